import { readFileSync } from 'node:fs';
import type { PolicyRule } from '@rollcall/approver/policy';
import { yamlTooDeep } from '@rollcall/shared/config';
import { RollcallError } from '@rollcall/shared/errors';
import {
  apiVersion,
  approvalPolicy,
  type ManagedClusterSet,
  managedClusterSet,
} from '@rollcall/shared/resources';
import { type Document, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { nodeAt, offsetOf, type YamlPath } from '../yaml-place.ts';
import { type FilePlace, placeInFile } from './place-in-file.ts';

/** A mistake, and where it stands in the file; line and column count from 1. */
export interface FileProblem extends FilePlace {
  readonly message: string;
}

/** One ApprovalPolicy of a file. */
export interface FilePolicy {
  readonly name: string;
  readonly rules: readonly PolicyRule[];
  /** Where a place within an expression stands in the file. */
  placeOf(rule: string, place: { line: number; column: number }): FilePlace & { note: string };
}

/** A set that stands beside the policies. */
export interface FileSet extends Pick<ManagedClusterSet, 'spec'> {
  readonly name: string;
}

export interface PolicyFile {
  readonly lines: readonly string[];
  readonly policies: readonly FilePolicy[];
  readonly problems: readonly FileProblem[];
  readonly sets: readonly FileSet[];
  /** Kinds of the other objects in the file. */
  readonly others: readonly string[];
}

/** More is no file of policies; the API server takes 1.5 MiB an object. */
const maxFileBytes = 8 * 1024 * 1024;

/** @throws RollcallError USAGE where the file cannot be read or is too large */
export function readPolicyFile(path: string): PolicyFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `cannot read "${path}"`, { cause });
  }
  if (Buffer.byteLength(text) > maxFileBytes)
    throw new RollcallError('USAGE', `"${path}" is larger than ${maxFileBytes} bytes`);
  return parsePolicyFile(text);
}

export function parsePolicyFile(text: string): PolicyFile {
  const counter = new LineCounter();
  const problems: FileProblem[] = [];
  const policies: FilePolicy[] = [];
  const sets: FileSet[] = [];
  const others: string[] = [];
  const at = (offset: number): FilePlace => {
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const lines = text.split(/\r?\n/);
  const tooDeep = yamlTooDeep(text);
  if (tooDeep !== undefined)
    return { lines, policies, problems: [{ ...at(0), message: tooDeep }], sets, others };
  const place = ({ document, base }: FileObject, path: YamlPath, atKey = false) =>
    at(offsetOf(document, [...base, ...path], atKey));

  function readObject(object: FileObject): void {
    const { content } = object;
    const { kind } = content;
    const set = kind === managedClusterSet.kind ? setIn(content) : undefined;
    if (set) {
      sets.push(set);
      return;
    }
    if (kind !== approvalPolicy.kind) {
      if (typeof kind === 'string') others.push(kind);
      else problems.push({ ...place(object, []), message: 'there is no kind: expected ApprovalPolicy' });
      return;
    }
    const found = shapeProblems(object);
    problems.push(...found.map(({ path, message, atKey }) => ({ ...place(object, path, atKey), message })));
    if (found.length > 0) return;
    const { metadata, spec } = content as unknown as {
      metadata: { name: string };
      spec: { rules: PolicyRule[] };
    };
    policies.push({
      name: metadata.name,
      rules: spec.rules,
      placeOf(rule, within) {
        const index = spec.rules.findIndex((one) => one.name === rule);
        const node = nodeAt(object.document, [...object.base, 'spec', 'rules', index, 'when']);
        return isScalar(node) ? placeInFile(text, node, within, at) : { ...at(0), note: '' };
      },
    });
  }

  const documents = parseAllDocuments(text, { lineCounter: counter, logLevel: 'error' });
  for (const document of Array.isArray(documents) ? documents : []) {
    for (const error of document.errors)
      problems.push({
        ...at(error.pos[0]),
        message: error.message.split('\n')[0]?.replace(/ at line.*$/, '') ?? '',
      });
    if (document.errors.length > 0 || document.contents === null) continue;
    const content = contentOf(document);
    if (content instanceof Error) {
      problems.push({ ...at(offsetOf(document, [])), message: content.message });
      continue;
    }
    for (const object of objectsIn(document, content)) readObject(object);
  }
  return { lines, policies, problems, sets, others };
}

/** A Kubernetes object of a file. */
interface FileObject {
  readonly document: Document;
  /** Where it stands in its document. */
  readonly base: YamlPath;
  readonly content: Readonly<Record<string, unknown>>;
}

/** The document is one, or a List of them, as `get -o yaml` prints it. */
function objectsIn(document: Document, content: unknown): FileObject[] {
  const asObject = (given: unknown, base: YamlPath) => {
    const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
    return { document, base, content: isObject ? (given as Record<string, unknown>) : {} };
  };
  const whole = asObject(content, []);
  const { kind, items } = whole.content;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [whole];
  return items.map((item, index) => asObject(item, ['items', index]));
}

/** @returns undefined for what the API server would not take; that is said when it is applied */
function setIn({ metadata, spec = {} }: FileObject['content']): FileSet | undefined {
  const name: unknown = (metadata as { name?: unknown } | undefined)?.name;
  const parsed = managedClusterSet.spec.safeParse(spec);
  return typeof name === 'string' && parsed.success ? { name, spec: parsed.data } : undefined;
}

/** Aliases that multiply are the only thing that a document without errors can fail on. */
function contentOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

interface ShapeProblem {
  /** Within the object. */
  readonly path: YamlPath;
  readonly message: string;
  /** The key is wrong, not its value. */
  readonly atKey?: boolean;
}

/** What the API server refuses, or drops without a word: fields that do not exist. */
function shapeProblems(object: FileObject): ShapeProblem[] {
  const { document, base, content } = object;
  const { shape } = approvalPolicy.spec;
  const ruleShape = shape.rules.element.shape;
  const problems = [
    ...unknownKeys(object, [], ['apiVersion', 'kind', 'metadata', 'spec', 'status']),
    ...unknownKeys(object, ['spec'], Object.keys(shape)),
  ];
  if (content['apiVersion'] !== apiVersion)
    problems.push({ path: ['apiVersion'], message: `expected apiVersion ${apiVersion}` });
  const name = (content['metadata'] as { name?: unknown } | undefined)?.name;
  if (!ruleShape.name.safeParse(name).success)
    problems.push({
      path: ['metadata', 'name'],
      message: 'expected metadata.name of a-z, 0-9 and -, at most 63 characters',
    });
  const rules = nodeAt(document, [...base, 'spec', 'rules']);
  const seen = new Set<string>();
  for (const index of isSeq(rules) ? rules.items.keys() : []) {
    const path = ['spec', 'rules', index];
    problems.push(...unknownKeys(object, path, Object.keys(ruleShape)));
    const ruleName = document.getIn([...base, ...path, 'name']);
    if (typeof ruleName !== 'string') continue;
    if (seen.has(ruleName))
      problems.push({ path: [...path, 'name'], message: `two rules are called "${ruleName}"` });
    seen.add(ruleName);
  }
  const parsed = approvalPolicy.spec.safeParse(content['spec']);
  for (const issue of parsed.error?.issues ?? []) {
    const path = issue.path.filter((part) => typeof part !== 'symbol');
    problems.push({ path: ['spec', ...path], message: `${['spec', ...path].join('.')}: ${issue.message}` });
  }
  return problems;
}

function unknownKeys(
  { document, base }: FileObject,
  path: YamlPath,
  known: readonly string[],
): ShapeProblem[] {
  const node = nodeAt(document, [...base, ...path]);
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key }) => {
    const name = isScalar(key) ? String(key.value) : '';
    if (known.includes(name)) return [];
    const message = `there is no field "${name}": expected one of ${known.join(', ')}`;
    return [{ path: [...path, name], message, atKey: true }];
  });
}

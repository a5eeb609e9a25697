import {
  type ASTNode,
  Environment,
  type EnvironmentOptions,
  type ParseResult,
  type TypeCheckResult,
  TypeError as CelTypeError,
} from '@marcbachmann/cel-js';
import { nodesIn } from '../expression-nodes.ts';
import { comprehensionsLibrary } from './comprehensions.ts';
import { conversionsLibrary } from './conversions.ts';
import { formatLibrary } from './format-macro.ts';
import { ipAndCidrLibrary } from './ip-and-cidr.ts';
import type { CelFunctions, Library } from './library.ts';
import { listsLibrary } from './lists.ts';
import { namedFormatsLibrary } from './named-formats.ts';
import { optionalsLibrary } from './optionals.ts';
import { quantityLibrary } from './quantity.ts';
import { patternError, regexLibrary } from './regex.ts';
import { semverLibrary } from './semver.ts';
import { setsLibrary } from './sets.ts';
import { stringsLibrary } from './strings.ts';
import { urlLibrary } from './url.ts';

const libraries: readonly Library[] = [
  ...[conversionsLibrary, stringsLibrary, formatLibrary, regexLibrary, listsLibrary, setsLibrary],
  ...[optionalsLibrary, comprehensionsLibrary, quantityLibrary, ipAndCidrLibrary, semverLibrary],
  ...[urlLibrary, namedFormatsLibrary],
];

/** A language in which expressions are checked and evaluated. */
export interface KubernetesEnvironment {
  /** @throws ParseError */
  parse(expression: string): ParseResult;
  /** All mistakes that can be found without values; texts that are no patterns, times or durations too. */
  check(expression: string): TypeCheckResult;
}

/** Names of functions that the engine has too and does not let go of. No expression can write it. */
const ours = 'kubernetes:';

/** A name, or a text with names, as people write them. */
export function writtenNames(text: string): string {
  return text.replaceAll(ours, '');
}

interface Signature {
  readonly receiverType?: string;
  readonly name: string;
  readonly params: readonly { readonly type: string }[];
  readonly returnType: string;
}

/** Types in a list, of which `map<string, int>` is one. */
function typesIn(list: string): string[] {
  return list.match(/[^\s,<]+(?:<(?:[^<>]|<[^<>]*>)*>)?/g) ?? [];
}

function readSignature(signature: string): Signature {
  const [, receiverType, name = '', params = '', returnType = ''] =
    /^(?:(.+)\.)?(\w+)\((.*)\): (.+)$/.exec(signature) ?? [];
  return {
    ...(receiverType === undefined ? {} : { receiverType }),
    name,
    params: typesIn(params).map((type) => ({ type })),
    returnType,
  };
}

/** What calls of one name and so many arguments have in common. */
function callKey({ name, receiver, count }: { name: string; receiver: boolean; count: number }): string {
  return `${receiver ? '.' : ''}${name}/${count}`;
}

/** Every call that the engine answers by itself. */
const ofEngine: ReadonlySet<string> = new Set(
  new Environment().getDefinitions().functions.map(({ name, receiverType, params }) =>
    callKey({ name, receiver: receiverType !== null, count: params.length }),
  ),
);
/** Those of them that a library answers instead, with all types that they take. */
const replaced = new Set<string>();

function registerFunctions(environment: Environment, functions: CelFunctions): void {
  for (const [signature, handler] of Object.entries(functions)) {
    const { name, receiverType, params, ...rest } = readSignature(signature);
    const key = callKey({ name, receiver: receiverType !== undefined, count: params.length });
    const isReplaced = ofEngine.has(key) && !receiverType?.startsWith('OptionalNamespace');
    if (isReplaced) replaced.add(key);
    environment.registerFunction({
      ...rest,
      ...(receiverType === undefined ? {} : { receiverType }),
      name: isReplaced ? ours + name : name,
      params: [...params],
      handler,
      async: false,
    });
  }
}

/** What stands before the dot of `sets.contains` is a value of a type of its own. */
function registerNamespace(environment: Environment, name: string, functions: CelFunctions): void {
  const type = `Namespace${name}`;
  const Namespace = class {};
  environment.registerType(type, Namespace);
  environment.registerConstant(name, type, new Namespace());
  for (const [signature, handler] of Object.entries(functions)) {
    const { params, ...rest } = readSignature(signature);
    const call = (_: unknown, ...values: unknown[]): unknown => handler(...values);
    environment.registerFunction({
      ...{ ...rest, receiverType: type, params: [...params], handler: call, async: false },
    });
  }
}

function register(environment: Environment): void {
  for (const { types } of libraries)
    for (const [name, ofType] of Object.entries(types ?? {})) environment.registerType(name, { ctor: ofType, fields: {} });
  for (const { functions, operators, macros, namespaces } of libraries) {
    registerFunctions(environment, functions ?? {});
    for (const [signature, handler] of Object.entries(operators ?? {}))
      environment.registerOperator(signature, handler);
    for (const [signature, handler] of Object.entries(macros ?? {}))
      environment.registerFunction(signature, handler);
    for (const [name, ofNamespace] of Object.entries(namespaces ?? {}))
      registerNamespace(environment, name, ofNamespace);
  }
}

/** Sends calls of names that the engine has too to our functions. */
function redirectCalls(node: ASTNode): void {
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args;
    const { length } = node.op === 'call' ? node.args[1] : node.args[2];
    if (replaced.has(callKey({ name, receiver: node.op === 'rcall', count: length })))
      node.args[0] = ours + name;
  }
  for (const inner of nodesIn(node.args)) redirectCalls(inner);
}

const ofPattern = new Set(['matches', 'find', 'findAll']);

/** A pattern that stands in an expression is known before there is a text. */
function patternProblem(node: ASTNode): CelTypeError | undefined {
  if (node.op !== 'rcall' || !ofPattern.has(writtenNames(node.args[0]))) return undefined;
  const [pattern] = node.args[2];
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return undefined;
  const error = patternError(pattern.args);
  const message = `"${pattern.args}" is no pattern: ${error}`;
  return error === undefined ? undefined : new CelTypeError({ code: 'invalid_text', message, node: pattern });
}

const conversions = new Set(['bool', 'bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'uint']);

/** What converts a text or a number that stands there gives the same each time. */
function conversionProblem(node: ASTNode, parse: (expression: string) => ParseResult): CelTypeError | undefined {
  if (node.op !== 'call' || !conversions.has(writtenNames(node.args[0]))) return undefined;
  const [given] = node.args[1];
  const literal = given?.op === '-_' ? given.args : given;
  if (!given || literal?.op !== 'value') return undefined;
  try {
    parse(node.input.slice(node.start, node.end))();
    return undefined;
  } catch (error) {
    const message = (error as CelTypeError).summary;
    return new CelTypeError({ code: 'invalid_text', message, node: given });
  }
}

const largestInt = 2n ** 63n - 1n;

function numberProblem(node: ASTNode, isNegated: boolean): CelTypeError | undefined {
  if (node.op !== 'value' || typeof node.args !== 'bigint') return undefined;
  if (node.args <= largestInt + (isNegated ? 1n : 0n)) return undefined;
  return new CelTypeError({ code: 'invalid_text', message: `${node.args} has more than 64 bits`, node });
}

/** What the engine finds only when it evaluates, and an API server before. */
function literalProblem(
  node: ASTNode,
  parse: (expression: string) => ParseResult,
  isNegated = false,
): CelTypeError | undefined {
  const own = patternProblem(node) ?? conversionProblem(node, parse) ?? numberProblem(node, isNegated);
  if (own) return own;
  for (const inner of nodesIn(node.args)) {
    const problem = literalProblem(inner, parse, node.op === '-_');
    if (problem) return problem;
  }
  return undefined;
}

/** An engine with Kubernetes' libraries. What it does otherwise than an API server stands in docs/policy-guide.md. */
export function createKubernetesEnvironment(
  options: EnvironmentOptions,
  declare: (environment: Environment) => void,
): KubernetesEnvironment {
  const environment = new Environment({ ...options, enableOptionalTypes: true });
  register(environment);
  declare(environment);

  function parse(expression: string): ParseResult {
    const parsed = environment.parse(expression);
    redirectCalls(parsed.ast);
    return parsed;
  }

  return {
    parse,
    check(expression) {
      try {
        const parsed = parse(expression);
        const checked = parsed.check();
        const error = checked.valid ? literalProblem(parsed.ast, parse) : undefined;
        return error ? { valid: false, error } : checked;
      } catch (error) {
        return { valid: false, error: error as CelTypeError };
      }
    },
  };
}

import {
  policyProblems,
  type PolicyRule,
  policyWarnings,
  type PolicyWarning,
  setWarnings,
} from '@rollcall/approver/policy';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { resources } from '@rollcall/shared/kubernetes';
import type { ManagedClusterSet } from '@rollcall/shared/resources';
import { setProblem } from '@rollcall/shared/resources/set-problem';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { printable, printableLines } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { type FilePolicy, type FileProblem, type PolicyFile, readPolicyFile } from './policy-file.ts';
import { createTrial, type Trial } from './time-rules.ts';

export interface Finding extends FileProblem {
  readonly severity: 'error' | 'warning';
}

/** The sets of a hub by name; undefined where none is asked. */
export type SetsOfHub = ReadonlyMap<string, Pick<ManagedClusterSet, 'spec'>> | undefined;

/** What is wrong with the policies of a file, and what most likely is not meant; in the order of the file. */
export async function findingsOf(file: PolicyFile, ofHub?: SetsOfHub): Promise<Finding[]> {
  const findings: Finding[] = file.problems.map((problem) => ({ ...problem, severity: 'error' }));
  const names = new Set<string>();
  await using trial = createTrial();
  for (const policy of file.policies) {
    findings.push(...(await policyFindings(policy, trial, (rules) => warningsOfSets(rules, file, ofHub))));
    if (names.has(policy.name))
      findings.push({
        severity: 'error',
        message: `two policies are called "${policy.name}"`,
        ...policy.placeOf(policy.rules[0]?.name ?? '', { line: 1, column: 1 }),
      });
    names.add(policy.name);
  }
  return findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

/** Those of the file count too: they are applied with it. */
function warningsOfSets(rules: readonly PolicyRule[], file: PolicyFile, ofHub: SetsOfHub): PolicyWarning[] {
  if (!ofHub) return [];
  return setWarnings(rules, (name) =>
    setProblem(name, file.sets.find((set) => set.name === name) ?? ofHub.get(name)),
  );
}

async function policyFindings(
  { rules, placeOf }: FilePolicy,
  trial: Trial,
  ofSets: (rules: readonly PolicyRule[]) => PolicyWarning[],
): Promise<Finding[]> {
  const at = (rule: string, message: string, place = { line: 1, column: 1 }) => {
    const { note, ...where } = placeOf(rule, place);
    return { ...where, message: `rule "${rule}": ${message}${note}` };
  };
  const problems = policyProblems(rules);
  if (problems.length > 0)
    return problems.map(({ rule, message, ...place }) => ({
      ...at(rule, message, place),
      severity: 'error',
    }));
  const tooSlow = await trial.tryOut(rules);
  const errors = [...tooSlow].map(([rule, message]) => ({
    ...at(rule, message),
    severity: 'error' as const,
  }));
  const warnings = [...policyWarnings(rules), ...ofSets(rules)].map(({ rule, reason, message }) => ({
    ...at(rule, `${message} (${reason})`),
    severity: 'warning' as const,
  }));
  return [...errors, ...warnings];
}

const longestExcerpt = 120;

/** As compilers say it: place, what is wrong, the line, and a caret below the place. */
export function findingText(path: string, lines: readonly string[], finding: Finding): string {
  const { line, column, severity, message } = finding;
  const source = lines[line - 1] ?? '';
  const from = column > longestExcerpt - 20 ? column - 20 : 0;
  const excerpt = source.slice(from, from + longestExcerpt).replaceAll('\t', ' ');
  const head = `${path}:${line}:${column}: ${severity}: ${printable(message)}`;
  return [head, `    ${printableLines(excerpt)}`, `    ${' '.repeat(column - 1 - from)}^`].join('\n');
}

function sayFinding(path: string, { lines }: PolicyFile, finding: Finding): void {
  say(findingText(path, lines, finding));
}

/**
 * Reads a file and says what is wrong with it.
 * @param options.tell - to whom; without it to the person, on stderr
 * @returns its policies, none of which has a mistake
 * @throws RollcallError USAGE, POLICY_INVALID
 */
export async function readGoodPolicies(
  path: string,
  { tell = sayFinding, ofHub }: { tell?: typeof sayFinding; ofHub?: SetsOfHub } = {},
): Promise<readonly FilePolicy[]> {
  const file = readPolicyFile(path);
  const findings = await withProgress(`trying the rules of ${path}`, findingsOf(file, ofHub));
  for (const finding of findings) tell(path, file, finding);
  const { length } = findings.filter(({ severity }) => severity === 'error');
  if (length > 0)
    throw new RollcallError(
      'POLICY_INVALID',
      `"${path}" has ${length} ${length === 1 ? 'mistake' : 'mistakes'}`,
    );
  if (file.others.length > 0) say(`${path}: not looked at: ${[...new Set(file.others)].join(', ')}`);
  if (file.policies.length === 0)
    throw new RollcallError('POLICY_INVALID', `"${path}" has no ApprovalPolicy`);
  return file.policies;
}

export interface CheckFlags extends Pick<HubFlags, 'kubeconfig' | 'context'> {
  readonly output: 'text' | DocumentFormat;
}

async function readSets(flags: CheckFlags): Promise<SetsOfHub> {
  if (flags.kubeconfig === undefined && flags.context === undefined) return undefined;
  const client = openHub(flags);
  try {
    sayHub(client);
    const listing = client.list<ManagedClusterSet>(resources.managedClusterSets);
    const sets = await withProgress('reading the sets', listing);
    return new Map(sets.map((set) => [set.metadata.name, set]));
  } finally {
    client.close();
  }
}

/**
 * `rollcall policy check`: what the hub would say of these files, without a hub, which only knows which sets there are.
 * @throws RollcallError USAGE, POLICY_INVALID; KubeApiError
 */
export async function checkPolicies(paths: readonly string[], flags: CheckFlags): Promise<void> {
  const { output } = flags;
  const ofHub = await readSets(flags);
  let first: unknown;
  const checked: { file: string; good: boolean; findings: Finding[] }[] = [];
  for (const path of paths) {
    const findings: Finding[] = [];
    const note: typeof sayFinding = (_path, _file, finding) => findings.push(finding);
    let isGood = false;
    try {
      const tell = output === 'text' ? sayFinding : note;
      const policies = await readGoodPolicies(path, { tell, ofHub });
      const rules = policies.reduce((count, policy) => count + policy.rules.length, 0);
      if (output === 'text') printResult(`${path}: policies ${policies.length}, rules ${rules}: good`);
      isGood = true;
    } catch (thrown) {
      // What stands in the file has been told; that it cannot be read, or has no policy, is told once, with the first at the end.
      const { message } = toRollcallError(thrown);
      if (output !== 'text' && findings.length === 0)
        findings.push({ line: 1, column: 1, severity: 'error', message });
      if (output === 'text' && first !== undefined) say(`${path}: ${message}`);
      first ??= thrown;
    }
    checked.push({ file: path, good: isGood, findings });
  }
  if (output !== 'text') printResult(documentText(checked, output));
  if (first !== undefined) throw first;
}

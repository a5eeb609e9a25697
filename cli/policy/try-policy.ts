import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import {
  byName,
  comparedCounts,
  createPolicyEvaluator,
  decisionOf,
  type Judgement,
  type PolicyInForce,
  readPolicies,
} from '@rollcall/approver/policy';
import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { type Cause, type Decision, foldRecord, setDeclaration } from '@rollcall/shared/events';
import type { BusFlags } from '../events/bus-access.ts';
import { sinceMs } from '../terminal/point-in-time.ts';
import { sayLeftOut } from '../events/open-bus.ts';
import { printResult, say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { documentText, type DocumentFormat } from '../terminal/document-text.ts';
import { readGoodPolicies } from './check-policy.ts';
import { judgeManyPast, type PastJudgement } from './judge-past.ts';
import { type PastRequest, replayRequests } from './past-requests.ts';
import type { FilePolicy } from './policy-file.ts';
import { textTable } from './text-table.ts';
import { deadlineMs } from './time-rules.ts';
import { withHistory } from './with-history.ts';

export interface TryFlags extends BusFlags {
  readonly since: string;
  readonly output: 'text' | 'name' | DocumentFormat;
}

/** What a request got, or would get. */
export interface Verdict {
  readonly verdict: string;
  readonly reason: string;
  readonly by: Cause;
  readonly clusterSet?: string;
  readonly access?: string;
}

export interface ChangedDecision {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly requestId: string;
  readonly requestedAt: string;
  readonly was: Verdict | undefined;
  readonly wouldBe: Verdict;
}

export interface Trial {
  readonly since: string;
  readonly judged: number;
  readonly changed: readonly ChangedDecision[];
  /** By `held → approved`. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Each would be held; that many are enough to say so. */
const maxTimeouts = 20;

/** The policies in force, with those of the file in place of what has the same name. */
export function withFile(inForce: readonly PolicyInForce[], file: readonly FilePolicy[]): PolicyInForce[] {
  const names = new Set(file.map(({ name }) => name));
  const changed = file.map(({ name, rules }): PolicyInForce => {
    const before = inForce.find(({ declaration }) => declaration.name === name)?.declaration.generation ?? 0;
    const declaration = { name, uid: '', generation: before + 1, rules: [...rules], withdrawn: false };
    // The worker compiles a version once: other rules must be another one.
    const version = createHash('sha256').update(JSON.stringify(rules)).digest('hex');
    return { declaration, version };
  });
  return [...inForce.filter(({ declaration }) => !names.has(declaration.name)), ...changed].toSorted(byName);
}

/** Policies are what takes the time; reading and judging goes on in one place. */
const workers = Math.min(4, availableParallelism());

/** Nobody compares it. */
const anyHeartbeat = { intervalSeconds: 0, graceSeconds: 0 };

function decidedNow({ identity, previous, atMs }: PastRequest, judgement: Judgement): Decision {
  return decisionOf({ identity, previous, heartbeat: anyHeartbeat, nowMs: atMs }, judgement);
}

/** What a cluster is given only counts where it is let in. */
function verdictOf({ verdict, reason, by, clusterSet, access }: Decision): Verdict {
  return {
    verdict,
    reason,
    by,
    ...(verdict === 'approved' && clusterSet !== undefined ? { clusterSet } : {}),
    ...(verdict === 'approved' && access === 'Namespace' ? { access } : {}),
  };
}

export function verdictText(verdict: Verdict | undefined): string {
  if (!verdict) return 'undecided';
  const gives = [
    ...(verdict.clusterSet === undefined ? [] : [`set ${verdict.clusterSet}`]),
    ...(verdict.access === undefined ? [] : [`access ${verdict.access}`]),
  ];
  return [verdict.verdict, ...gives].join(', ');
}

export function ruleText(by: Cause, reason: string): string {
  return by.policy === undefined ? reason : `${by.policy}/${by.rule ?? ''}`;
}

/**
 * Judges past requests by other policies. Writes nothing.
 * @throws RollcallError POLICY_INVALID where the policies take too long
 */
export async function tryPolicies(options: {
  log: Pick<EventLog, 'scan'>;
  policies: readonly PolicyInForce[];
  /** Those that are there now. */
  setNames?: readonly string[];
  fromMs: number;
  onProgress?: (judged: number) => void;
}): Promise<Trial> {
  const { log, policies, setNames = [], fromMs, onProgress } = options;
  const evaluators = Array.from({ length: workers }, () => createPolicyEvaluator({ deadlineMs }));
  const changed: ChangedDecision[] = [];
  const counts: Record<string, number> = {};
  let judged = 0;
  let timeouts = 0;

  function compare(past: PastRequest, { outcome, judgement }: PastJudgement): Decision | undefined {
    if (!judgement) return undefined;
    judged++;
    if (outcome.kind === 'timeout' && ++timeouts >= maxTimeouts)
      throw new RollcallError(
        'POLICY_INVALID',
        `the policies took longer than ${deadlineMs} ms for ${timeouts} of ${judged} requests, which would all be held`,
      );
    if (judged % 10_000 === 0) onProgress?.(judged);
    const was = past.decision && verdictOf(past.decision.section as Decision);
    const decision = decidedNow(past, judgement);
    const wouldBe = verdictOf(decision);
    const [before, after] = [verdictText(was), verdictText(wouldBe)];
    // The same verdict by another policy is no other decision, but that policy's quota it is.
    if (before === after && was?.by.policy === decision.by.policy) return undefined;
    if (before !== after) {
      const { clusterId, clusterName, request } = past.identity;
      const requestedAt = new Date(request.requestedAtMs).toISOString();
      changed.push({ clusterId, clusterName, requestId: request.id, requestedAt, was, wouldBe });
      counts[`${before} → ${after}`] = (counts[`${before} → ${after}`] ?? 0) + 1;
    }
    return decision;
  }

  try {
    await replayRequests({
      log,
      fromMs,
      comparedCounts: comparedCounts(policies),
      policyNames: policies.map(({ declaration }) => declaration.name),
      setNames,
      onSkip: sayLeftOut,
      async judge(all) {
        const each = Math.ceil(all.length / evaluators.length);
        const parts = evaluators.map((evaluator, at) =>
          judgeManyPast(evaluator, policies, all.slice(at * each, (at + 1) * each)),
        );
        return (await Promise.all(parts)).flat();
      },
      take: compare,
    });
  } finally {
    await Promise.all(evaluators.map((evaluator) => evaluator.close()));
  }
  return { since: new Date(fromMs).toISOString(), judged, changed, counts };
}

function trialText({ since, judged, changed, counts }: Trial): string {
  const rows = changed.map(({ clusterName, requestedAt, was, wouldBe }) => [
    clusterName,
    requestedAt,
    verdictText(was),
    verdictText(wouldBe),
    ruleText(wouldBe.by, wouldBe.reason),
  ]);
  const lines = Object.entries(counts).map(([what, count]) => `${what}: ${count}`);
  const sum = `requests judged since ${since}: ${judged}, decided differently: ${changed.length}`;
  return [
    ...(rows.length === 0 ? [] : [textTable(['CLUSTER', 'REQUESTED', 'THEN', 'NOW', 'RULE'], rows), '']),
    sum,
    ...lines,
  ].join('\n');
}

/** Names are those of the clusters that would have been decided differently, each once. */
function printTrial(trial: Trial, output: TryFlags['output']): void {
  if (output === 'text') printResult(trialText(trial));
  else if (output !== 'name') printResult(documentText(trial, output));
  else
    for (const name of new Set(trial.changed.map(({ clusterName }) => clusterName)))
      printResult(printable(name));
}

function sayProgress(judged: number): void {
  say(`[try] ${judged} requests`);
}

/** Of the sets that are declared. */
async function readSetNames(log: Pick<EventLog, 'readAll'>): Promise<string[]> {
  const ofSets = Map.groupBy(await log.readAll('set.*.*', { onSkip: sayLeftOut }), ({ id }) => id);
  return [...ofSets].flatMap(([id, events]) => {
    const set = setDeclaration(foldRecord({ kind: 'set', id }, events));
    return set && !set.withdrawn ? [set.name] : [];
  });
}

/** Judges the requests since then by the policies in force, with those of a file in place of what has the same name. */
export async function tryFilePolicies(
  log: EventLog,
  file: readonly FilePolicy[],
  how: { fromMs: number; onProgress?: (judged: number) => void },
): Promise<Trial> {
  const reading = Promise.all([readPolicies(log), readSetNames(log)]);
  const [inForce, setNames] = await withProgress('reading the policies', reading);
  return tryPolicies({ log, policies: withFile(inForce, file), setNames, ...how });
}

/**
 * `rollcall policy try`: what would have been decided differently, had the policies of this file been in force.
 * @throws RollcallError USAGE, POLICY_INVALID, HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function tryPolicyFile(path: string, flags: TryFlags): Promise<void> {
  const fromMs = sinceMs(flags.since, Date.now());
  const file = await readGoodPolicies(path);
  await withHistory(flags, async (log) => {
    const trying = tryFilePolicies(log, file, { fromMs, onProgress: sayProgress });
    printTrial(await withProgress('judging past requests', trying), flags.output);
  });
}

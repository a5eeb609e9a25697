import { type EventLog, isOvertaken, type SkippedEvent } from '@rollcall/shared/bus';
import {
  type AggregateId,
  clusterRecord,
  foldRecord,
  type Head,
  type PolicyDeclaration,
  policyDeclaration,
  type StoredEvent,
  type TokenRecord,
  tokenRecord,
} from '@rollcall/shared/events';
import type { Heartbeat } from '../decision/decision-section.ts';
import type { FleetNow, FleetView } from '../fleet/fleet-view.ts';
import { type CountComparison, countComparisons } from '../policy/fleet-count-comparisons.ts';
import { createPolicyEnvironment, type PolicyInput } from '../policy/policy-environment.ts';
import type { BulkPolicyEvaluator, PolicyEvaluator } from '../policy/policy-thread.ts';
import { isVouchedFor } from '../decision/key-rotated.ts';
import { readsField, type RootName, rootsOf } from '../policy/read-expression.ts';
import { policyInput } from '../policy/policy-input.ts';
import { type JudgementContext } from './decide-request.ts';
import { isOpen, knownOtherKey, type PolicyOutcome } from './judgement.ts';
import type { WorkerReply, WorkerPolicy } from '../policy/evaluate-policies.ts';

/** Agents cannot send more than 64 KiB; this bounds what tokens and records add. */
const maxInputBytes = 131_072;

export interface JudgementParts {
  readonly log: Pick<EventLog, 'read' | 'readAll'>;
  readonly evaluator: PolicyEvaluator;
  readonly fleet: FleetView;
  readonly deadlineMs: number;
  readonly heartbeat: Heartbeat;
  nowMs(): number;
}

/** A policy that is in force, by the event that declared it. */
export interface PolicyInForce {
  readonly declaration: PolicyDeclaration;
  /** Epoch and sequence of that event. */
  readonly version: string;
  /** Why its rules are not known here. It may deny, so that nothing is decided while it stands. */
  readonly unreadable?: string;
}

/** A policy whose newest event is of a newer version, or garbage. */
function unreadablePolicy({ id, sequence }: SkippedEvent): PolicyInForce {
  return {
    declaration: { name: id, uid: '', generation: 0, rules: [], withdrawn: false },
    version: `unreadable.${sequence}`,
    unreadable: `cannot be read (event ${sequence}): upgrade this hub, or delete the policy and write it again`,
  };
}

/** The order in which policies are asked: of two that say the same, the first decides. */
export function byName(a: PolicyInForce, b: PolicyInForce): number {
  return a.declaration.name < b.declaration.name ? -1 : 1;
}

/** All policies in force, by name; those that cannot be read too, because they may be a Deny. */
export async function readPolicies(log: Pick<EventLog, 'readAll'>): Promise<PolicyInForce[]> {
  const skipped = new Map<string, SkippedEvent>();
  const events = await log.readAll('policy.*.*', {
    onSkip: (_error, event) => {
      if (event.sequence > (skipped.get(event.id)?.sequence ?? 0)) skipped.set(event.id, event);
    },
  });
  const unreadable = [...skipped.values()].filter((event) => !isOvertaken(event, events));
  const inForce = unreadable.map(unreadablePolicy);
  for (const [id, ofPolicy] of Map.groupBy(events, (event: StoredEvent) => event.id)) {
    const record = foldRecord({ kind: 'policy', id }, ofPolicy);
    const declaration = policyDeclaration(record);
    if (unreadable.some((event) => event.id === id)) continue;
    if (declaration && record.head && !declaration.withdrawn) {
      inForce.push({ declaration, version: versionOf(record.head) });
    }
  }
  return inForce.toSorted(byName);
}

function versionOf(head: Head): string {
  return `${head.epoch}.${head.sequence}`;
}

const environment = createPolicyEnvironment();

/** Whether any rule of any of these policies reads this root: what it needs is only then gathered. */
export function policiesRead(policies: readonly PolicyInForce[], root: RootName): boolean {
  return policies.some(({ declaration }) =>
    declaration.rules.some(({ when }) => when.includes(root) && rootsOf(environment, when).has(root)),
  );
}

/** What the rules of these policies compare the counts of the fleet with; undefined where one reads them otherwise. */
export function comparedCounts(policies: readonly PolicyInForce[]): CountComparison[] | undefined {
  return countComparisons(
    environment,
    policies.flatMap(({ declaration }) => declaration.rules.map(({ when }) => when)),
  );
}

/** Says whether two readings saw the same policies. */
export function versionsOf(policies: readonly PolicyInForce[]): string {
  return policies.map(({ declaration, version }) => `${declaration.name}@${version}`).join(' ');
}

function toOutcome(policies: readonly PolicyInForce[], answer: WorkerReply): PolicyOutcome {
  const found = new Map(policies.map(({ declaration }) => [declaration.name, declaration]));
  const matches = answer.matches.flatMap(({ policy, rule }) => {
    const known = found.get(policy);
    const declared = known?.rules.find(({ name }) => name === rule);
    const readsSameMember = declared !== undefined && readsField(environment, declared.when, 'sameMember');
    return known && declared
      ? [{ policy, generation: known.generation, rule: declared, readsSameMember }]
      : [];
  });
  const failures = answer.failures.map((failure) => ({
    ...failure,
    generation: found.get(failure.policy)?.generation ?? 0,
  }));
  const unread = policies.flatMap(({ declaration: { name: policy, generation }, unreadable: message }) =>
    message === undefined ? [] : [{ policy, generation, rule: '', message }],
  );
  return { kind: 'evaluated', matches, failures: [...unread, ...failures] };
}

/** What a judgement was made from; `policies` tells later whether it still stands on the newest ones. */
export interface GatheredJudgement extends JudgementContext {
  readonly policies: readonly PolicyInForce[];
  readonly fleet?: FleetNow;
}

/** Far longer than honest rules take; within it, what was read cannot be much older than what is decided by it. */
const freshForMs = 20;

/**
 * Everything a judgement needs: the record, and what the policies in force say of its request. When evaluating took long, a policy
 * or the token may have been taken back meanwhile: nothing is approved by what does not stand any more.
 */
export async function gatherJudgement(parts: JudgementParts, clusterId: string): Promise<GatheredJudgement> {
  for (;;) {
    const { basis, ...gathered } = await gatherOnce(parts, clusterId);
    const tookMs = parts.nowMs() - gathered.nowMs;
    if (basis === undefined || (tookMs >= 0 && tookMs < freshForMs)) return gathered;
    const tokenId = gathered.record.identity?.request.tokenId ?? '';
    if (basisOf(await readBasis(parts.log, tokenId)) === basis) return gathered;
  }
}

/** What a judgement stands on. */
interface Basis {
  readonly policies: readonly PolicyInForce[];
  readonly token: TokenRecord;
}

/** Older registrars named no token by no word at all, which nothing can be read by. */
async function readBasis(log: JudgementParts['log'], tokenId: string): Promise<Basis> {
  const of: AggregateId = { kind: 'token', id: tokenId };
  const [policies, token] = await Promise.all([
    readPolicies(log),
    tokenId === '' ? foldRecord(of, []) : log.read(of),
  ]);
  return { policies, token: tokenRecord(token) };
}

/** Two readings that say the same are the same. Uses of the token are no part of it: others spend them all the time. */
function basisOf({ policies, token }: Basis): string {
  return `${token.lastOf.approver?.sequence} ${versionsOf(policies)}`;
}

async function gatherOnce(
  parts: JudgementParts,
  clusterId: string,
): Promise<GatheredJudgement & { readonly basis?: string }> {
  const { log, heartbeat } = parts;
  const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
  const { identity, decision } = record;
  const nowMs = parts.nowMs();
  const nothing: PolicyOutcome = { kind: 'evaluated', matches: [], failures: [] };
  if (!identity || !isOpen(record) || isVouchedFor(identity, decision))
    return { record, outcome: nothing, heartbeat, nowMs, policies: [] };
  const { policies, token } = await readBasis(log, identity.request.tokenId);
  const isCounting = policiesRead(policies, 'fleet');
  parts.fleet.setCounting(isCounting);
  const fleet = isCounting ? await parts.fleet.now(nowMs) : undefined;
  const keyChanged = knownOtherKey(identity, decision) !== undefined;
  const context = { token: token.declaration, keyChanged, fleet: fleet?.counts, nowMs };
  const outcome = await evaluatePolicies(parts, policies, policyInput(identity, context));
  const basis = basisOf({ policies, token });
  return { record, outcome, heartbeat, nowMs, policies, basis, ...(fleet ? { fleet } : {}) };
}

const tooLong: PolicyOutcome = {
  kind: 'evaluated',
  matches: [],
  failures: [
    { policy: '', generation: 0, rule: '', message: `the request is longer than ${maxInputBytes} bytes` },
  ],
};

function isTooLong(input: string): boolean {
  return Buffer.byteLength(input) > maxInputBytes;
}

function askedOf(policies: readonly PolicyInForce[]): WorkerPolicy[] {
  return policies.map(({ declaration, version }) => ({
    name: declaration.name,
    version,
    rules: declaration.rules.map(({ name, when }) => ({ name, when })),
  }));
}

/** What the policies say of a request, in the worker; also how the CLI judges past requests by a changed policy. */
export async function evaluatePolicies(
  { evaluator, deadlineMs }: Pick<JudgementParts, 'evaluator' | 'deadlineMs'>,
  policies: readonly PolicyInForce[],
  values: PolicyInput,
): Promise<PolicyOutcome> {
  const input = JSON.stringify(values);
  if (isTooLong(input)) return tooLong;
  const evaluation = await evaluator.evaluate({ policies: askedOf(policies), input });
  return evaluation.kind === 'timeout'
    ? { kind: 'timeout', deadlineMs }
    : toOutcome(policies, evaluation.answer);
}

/** The same of many requests, in their order: for policies whose answer about one changes nothing for the next. */
export async function evaluateTogether(
  { evaluator, deadlineMs }: { evaluator: Pick<BulkPolicyEvaluator, 'evaluateAll'>; deadlineMs: number },
  policies: readonly PolicyInForce[],
  values: readonly PolicyInput[],
): Promise<PolicyOutcome[]> {
  const all = values.map((one) => JSON.stringify(one));
  const inputs = all.filter((input) => !isTooLong(input));
  const evaluations = (await evaluator.evaluateAll({ policies: askedOf(policies), inputs })).values();
  return all.map((input) => {
    if (isTooLong(input)) return tooLong;
    const evaluation = evaluations.next().value;
    return evaluation?.kind === 'evaluated'
      ? toOutcome(policies, evaluation.answer)
      : { kind: 'timeout', deadlineMs };
  });
}

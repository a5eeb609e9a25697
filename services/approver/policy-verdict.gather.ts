import type { EventLog } from '@rollcall/shared/bus';
import {
  clusterRecord,
  foldRecord,
  type Head,
  type PolicyDeclaration,
  policyDeclaration,
  type StoredEvent,
  tokenRecord,
} from '@rollcall/shared/events';
import type { Heartbeat } from './cluster-section.ts';
import type { FleetNow, FleetView } from './fleet-view.ts';
import { createPolicyEnvironment, type PolicyInput } from './policy-environment.ts';
import type { PolicyEvaluator } from './policy-evaluator.ts';
import { type RootName, rootsOf } from './policy-expression.ts';
import { policyInput } from './policy-input.ts';
import { isOpen, type JudgementContext, knownOtherKey, type PolicyOutcome } from './policy-verdict.ts';
import type { WorkerAnswer } from './policy-worker.ts';

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
}

/** All policies in force, by name. */
export async function readPolicies(log: Pick<EventLog, 'readAll'>): Promise<PolicyInForce[]> {
  const events = await log.readAll('policy.*.*');
  const inForce: PolicyInForce[] = [];
  for (const [id, ofPolicy] of Map.groupBy(events, (event: StoredEvent) => event.id)) {
    const record = foldRecord({ kind: 'policy', id }, ofPolicy);
    const declaration = policyDeclaration(record);
    if (declaration && record.head && !declaration.withdrawn) {
      inForce.push({ declaration, version: versionOf(record.head) });
    }
  }
  return inForce.toSorted((a, b) => (a.declaration.name < b.declaration.name ? -1 : 1));
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

/** Says whether two readings saw the same policies. */
export function versionsOf(policies: readonly PolicyInForce[]): string {
  return policies.map(({ declaration, version }) => `${declaration.name}@${version}`).join(' ');
}

function toOutcome(policies: readonly PolicyInForce[], answer: WorkerAnswer): PolicyOutcome {
  const found = new Map(policies.map(({ declaration }) => [declaration.name, declaration]));
  const matches = answer.matches.flatMap(({ policy, rule }) => {
    const known = found.get(policy);
    const declared = known?.rules.find(({ name }) => name === rule);
    return known && declared ? [{ policy, generation: known.generation, rule: declared }] : [];
  });
  const failures = answer.failures.map((failure) => ({
    ...failure,
    generation: found.get(failure.policy)?.generation ?? 0,
  }));
  return { kind: 'evaluated', matches, failures };
}

/** What a judgement was made from; `policies` tells later whether it still stands on the newest ones. */
export interface GatheredJudgement extends JudgementContext {
  readonly policies: readonly PolicyInForce[];
  readonly fleet?: FleetNow;
}

/** Everything a judgement needs: the record, and what the policies in force say of its request. */
export async function gatherJudgement(parts: JudgementParts, clusterId: string): Promise<GatheredJudgement> {
  const { log, heartbeat } = parts;
  const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
  const { identity, decision } = record;
  const nowMs = parts.nowMs();
  const nothing: PolicyOutcome = { kind: 'evaluated', matches: [], failures: [] };
  if (!identity || !isOpen(record)) return { record, outcome: nothing, heartbeat, nowMs, policies: [] };
  const [policies, token] = await Promise.all([
    readPolicies(log),
    log.read({ kind: 'token', id: identity.request.tokenId }).then(tokenRecord),
  ]);
  const isCounting = policiesRead(policies, 'fleet');
  parts.fleet.setCounting(isCounting);
  const fleet = isCounting ? await parts.fleet.now(nowMs) : undefined;
  const keyChanged = knownOtherKey(identity, decision) !== undefined;
  const context = { token: token.declaration, keyChanged, fleet: fleet?.counts, nowMs };
  const outcome = await evaluatePolicies(parts, policies, policyInput(identity, context));
  return { record, outcome, heartbeat, nowMs, policies, ...(fleet ? { fleet } : {}) };
}

/** What the policies say of a request, in the worker; also how the CLI judges past requests by a changed policy. */
export async function evaluatePolicies(
  { evaluator, deadlineMs }: Pick<JudgementParts, 'evaluator' | 'deadlineMs'>,
  policies: readonly PolicyInForce[],
  values: PolicyInput,
): Promise<PolicyOutcome> {
  const input = JSON.stringify(values);
  if (Buffer.byteLength(input) > maxInputBytes) {
    const message = `the request is longer than ${maxInputBytes} bytes`;
    return { kind: 'evaluated', matches: [], failures: [{ policy: '', generation: 0, rule: '', message }] };
  }
  const asked = policies.map(({ declaration, version }) => ({
    name: declaration.name,
    version,
    rules: declaration.rules.map(({ name, when }) => ({ name, when })),
  }));
  const evaluation = await evaluator.evaluate({ policies: asked, input });
  return evaluation.kind === 'timeout'
    ? { kind: 'timeout', deadlineMs }
    : toOutcome(policies, evaluation.answer);
}

import {
  byName,
  createPolicyEnvironment,
  createPolicyEvaluator,
  decidingFilters,
  FleetTally,
  type Judgement,
  knownOtherKey,
  mergedScan,
  policiesRead,
  type PolicyEvaluator,
  type PolicyInForce,
  policyInput,
  type PolicyInput,
  type PolicyOutcome,
  readExpression,
} from '@rollcall/approver/policy';
import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  clusterRecord,
  type Decision,
  foldRecord,
  type Identity,
  type PolicyDeclaration,
  type StoredEvent,
  tokenRecord,
} from '@rollcall/shared/events';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { clusterIdOfTarget } from '../events/cluster-names.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import type { Explained, Explanation, RuleResult } from './explanation.ts';
import { explanationText } from './explanation-text.ts';
import { judgePast } from './judge-past.ts';
import { withHistory } from './with-history.ts';

export interface ExplainFlags extends BusFlags {
  readonly output: 'text' | DocumentFormat;
}

function onSkip(error: RollcallError): void {
  say(`left out: ${error.message}`);
}

async function collect(log: Pick<EventLog, 'scan'>, filter: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of log.scan({ filter, onSkip })) events.push(event);
  return events;
}

/** As the approver has them: by name. */
function policiesOf(events: readonly StoredEvent[]): PolicyInForce[] {
  const inForce = [...Map.groupBy(events, ({ id }) => id).values()].flatMap((ofPolicy) => {
    const last = ofPolicy.at(-1);
    const declaration = last?.section as PolicyDeclaration | undefined;
    if (!last || !declaration || declaration.withdrawn) return [];
    return [{ declaration, version: `${last.epoch}.${last.sequence}` }];
  });
  return inForce.toSorted(byName);
}

const environment = createPolicyEnvironment();

function readsOf(when: string, input: PolicyInput): Record<string, unknown> {
  const { reads } = readExpression(environment, when);
  const values = reads.map(({ root, field }): [string, unknown] =>
    field === undefined ? [root, input[root]] : [`${root}.${field}`, input[root][field] ?? null],
  );
  return Object.fromEntries(values);
}

function answersOf(
  policies: readonly PolicyInForce[],
  input: PolicyInput,
  { outcome, judgement }: { outcome: PolicyOutcome; judgement: Judgement | undefined },
): RuleResult[] {
  return policies.flatMap(({ declaration: { name: policy, generation, rules } }) =>
    rules.map(({ name: rule, effect, when }) => {
      const isIt = (one: { policy: string }, named: string) => one.policy === policy && named === rule;
      const failure =
        outcome.kind === 'evaluated' ? outcome.failures.find((one) => isIt(one, one.rule)) : undefined;
      const isTrue = outcome.kind === 'evaluated' && outcome.matches.some((one) => isIt(one, one.rule.name));
      const answer = outcome.kind === 'timeout' ? 'timeout' : failure ? 'error' : isTrue ? 'true' : 'false';
      const decides = judgement?.by.policy === policy && judgement.by.rule === rule;
      const inputs = readsOf(when, input);
      const error = failure ? { error: failure.message } : {};
      return { policy, generation, rule, effect, when, answer, ...error, inputs, decides };
    }),
  );
}

/** What is known of the history up to a sequence. */
interface Moment {
  readonly identity: Identity;
  readonly previous: Decision | undefined;
  readonly sequence: number;
  readonly atMs: number;
}

/**
 * Explains the request that a cluster made last.
 * @throws RollcallError NOT_FOUND where it has made none
 */
export async function explain(
  log: Pick<EventLog, 'scan'>,
  clusterId: string,
  nowMs: number,
): Promise<Explanation> {
  const aggregate = { kind: 'cluster', id: clusterId } as const;
  const events = await collect(log, `cluster.${clusterId}.*`);
  const { identity, decision } = clusterRecord(foldRecord(aggregate, events));
  if (!identity) throw new RollcallError('NOT_FOUND', `cluster "${clusterId}" has not asked to join`);
  const { request, clusterName } = identity;
  // The first event that carries the decision made it; later ones (`revoked`, `changed`) repeat it.
  const decided = events.find(({ definition, section }) => {
    const { requestId, decidedAtMs } = section as Partial<Decision>;
    return (
      definition.writer === 'approver' && requestId === request.id && decidedAtMs === decision?.decidedAtMs
    );
  });
  const policyEvents = await collect(log, 'policy.*.*');
  const tokenEvents = await collect(log, `token.${request.tokenId}.*`);
  const evaluator = createPolicyEvaluator({ deadlineMs: 100 });

  async function at(moment: Moment): Promise<Explained> {
    const isBefore = ({ sequence }: StoredEvent) => sequence < moment.sequence;
    const policies = policiesOf(policyEvents.filter(isBefore));
    const token = tokenRecord(
      foldRecord({ kind: 'token', id: request.tokenId }, tokenEvents.filter(isBefore)),
    ).declaration;
    const fleet = policiesRead(policies, 'fleet') ? await countsBefore(log, moment) : undefined;
    const keyChanged = knownOtherKey(moment.identity, moment.previous) !== undefined;
    const input = policyInput(moment.identity, { token, keyChanged, fleet, nowMs: moment.atMs });
    return explained(evaluator, policies, { ...moment, input });
  }

  const before = events.filter(({ sequence }) => sequence < (decided?.sequence ?? Infinity));
  const { identity: asked, decision: previous } = clusterRecord(foldRecord(aggregate, before));
  try {
    // As if it was not decided: what is decided is not judged again, but people ask what a policy would say today.
    const now = await at({ identity, previous, sequence: Infinity, atMs: nowMs });
    const about = {
      clusterId,
      clusterName,
      requestId: request.id,
      requestedAt: timeText(request.requestedAtMs),
    };
    const { code, message: why } = identity.refusal ?? {};
    const isRefused = identity.state === 'refused' && code !== undefined && why !== undefined;
    if (!decided || !decision)
      return { ...about, ...(isRefused ? { refusal: { code, message: why } } : {}), now };
    const atMs = decision.decidedAtMs;
    // As it stood then: since, its key may have been let in, or the cluster have left.
    const then = asked?.request.id === request.id ? asked : identity;
    const atDecision = await at({ identity: then, previous, sequence: decided.sequence, atMs });
    const { verdict, by, reason, message } = decided.section as Decision;
    return { ...about, decision: { verdict, by, reason, message, at: timeText(atMs) }, atDecision, now };
  } finally {
    await evaluator.close();
  }
}

const timeText = (atMs: number) => new Date(atMs).toISOString();

async function countsBefore(log: Pick<EventLog, 'scan'>, { sequence, atMs }: Moment) {
  const tally = new FleetTally();
  for await (const event of mergedScan(log, { filters: decidingFilters }).next()) {
    if (event.sequence >= sequence) break;
    tally.add(event);
  }
  return tally.counts(atMs);
}

async function explained(
  evaluator: PolicyEvaluator,
  policies: readonly PolicyInForce[],
  moment: Moment & { readonly input: PolicyInput },
): Promise<Explained> {
  const found = await judgePast(evaluator, policies, moment);
  const { judgement } = found;
  const isRefused = moment.identity.state === 'refused';
  const settled = {
    verdict: 'settled',
    reason: 'Settled',
    message: `the request is ${isRefused ? 'refused' : 'decided'}; policies are not asked again`,
  } as const;
  const { verdict, reason, message } = judgement ?? settled;
  return {
    at: timeText(moment.atMs),
    rules: answersOf(policies, moment.input, found),
    verdict,
    reason,
    message,
  };
}

/**
 * `rollcall policy explain`: what each rule said of a request, and says now.
 * @throws RollcallError NOT_FOUND, USAGE, HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function explainRequest(target: string, flags: ExplainFlags): Promise<void> {
  await withHistory(flags, async (log) => {
    const clusterId = await withProgress('looking for the request', clusterIdOfTarget(log, target));
    const explaining = explain(log, clusterId, Date.now());
    const explanation = await withProgress('reading the history', explaining);
    const { output } = flags;
    printResult(output === 'text' ? explanationText(explanation) : documentText(explanation, output));
  });
}

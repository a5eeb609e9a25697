import {
  createPolicyEvaluator,
  type Evaluation,
  type PolicyInForce,
  policyInput,
} from '@rollcall/approver/policy';
import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  approved,
  decisionSchema,
  decodeEvent,
  draft,
  type EncodedEvent,
  encodeEvent,
  type EventDraft,
  identitySchema,
  requested,
} from '@rollcall/shared/events';
import { tryPolicies } from '../../cli/policy/try-policy.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';

/** How fast policies are: for one request, and over the history of a large hub. */
export interface PolicyResult {
  /** Of the history, a request and a decision each. */
  readonly requests: number;
  /** `policy try` over them in memory, from their encoded events on; without the way from the server. */
  readonly tryMs: number;
  /** By policies that count the fleet: then what is decided about one request counts for the next. */
  readonly tryCountingMs: number;
  /** One request by 10 policies of 10 rules each, with the way to the worker and back. */
  readonly evaluationMs: Spread;
}

const startMs = Date.UTC(2026, 9, 22);

function identityOf(index: number) {
  return identitySchema.parse({
    state: 'requested',
    clusterId: `cluster-${index}`,
    clusterName: `edge-${index}`,
    request: {
      id: `request-${index}`,
      key: `key-${index}`,
      keyFingerprint: 'f',
      tokenId: 'token',
      tokenName: 'rollcall-join/token',
      labels: { region: index % 2 === 0 ? 'eu' : 'us', tier: 'gold' },
      claimed: { kubernetesVersion: 'v1.36.1', provider: 'kind', nodesTotal: index % 50, labels: {} },
      requestedAtMs: startMs + index * 20,
    },
  });
}

/** Request and approval of one cluster, as they stand in the stream. */
function* history(requests: number): Generator<{ draft: EventDraft; atMs: number }> {
  for (let index = 0; index < requests; index++) {
    const section = identityOf(index);
    const aggregate = { kind: 'cluster', id: section.clusterId } as const;
    const atMs = section.request.requestedAtMs;
    const what = { reason: 'R', message: 'm' };
    yield { draft: draft(requested, { aggregate, head: undefined }, { ...what, section }), atMs };
    const by = { policy: 'default', generation: 1, rule: 'all' };
    const decision = decisionSchema.parse({
      verdict: 'approved',
      requestId: section.request.id,
      key: section.request.key,
      approvedKey: section.request.key,
      clusterName: section.clusterName,
      namespace: section.clusterName,
      heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
      by,
      ...what,
      decidedAtMs: atMs,
    });
    yield {
      draft: draft(approved, { aggregate, head: undefined }, { by, ...what, section: decision }),
      atMs,
    };
  }
}

/** A stream in memory that decodes each event when it is read, as the real one does. */
function generatedLog(requests: number): Pick<EventLog, 'scan'> {
  const byType = new Map<string, { sequence: number; event: EncodedEvent }[]>();
  let sequence = 0;
  for (const { draft: event, atMs } of history(requests)) {
    const stamp = { epoch: 1, source: '/rollcall/bench', nowMs: atMs, correlation: 'bench' };
    const filter = `${event.definition.kind}.*.${event.definition.type}`;
    const ofType = byType.get(filter) ?? [];
    byType.set(filter, ofType);
    ofType.push({ sequence: ++sequence, event: encodeEvent(event, stamp) });
  }
  return {
    async *scan({ filter = '>' }) {
      for (const { sequence: at, event } of byType.get(filter) ?? []) {
        const header = (name: string) => event.headers[name] ?? '';
        yield decodeEvent({ subject: event.subject, sequence: at, header, data: event.body });
      }
    },
  };
}

/**
 * 10 policies with 10 rules each, of the kinds that the policy guide shows. What tells clusters apart comes last, so that each rule is
 * evaluated to its end: of each policy one rule is true.
 */
function tenByTen({ counting }: { counting: boolean }): PolicyInForce[] {
  const numbers = Array.from({ length: 10 }, (_, index) => index);
  return numbers.map((policy) => ({
    version: `${policy}`,
    declaration: {
      name: `policy-${policy}`,
      uid: `${policy}`,
      generation: 1,
      withdrawn: false,
      rules: numbers.map((rule) => ({
        name: `rule-${rule}`,
        when: [
          `has(request.labels.tier) && request.labels.tier == "gold"`,
          counting ? `fleet.clusters < ${policy + 1}000000` : `claimed.nodes < ${policy + 50}`,
          `time.hour < ${rule + 10}`,
          `request.clusterName.matches("^edge-[0-9]*${rule}$")`,
        ].join(' && '),
        effect: rule === 9 ? 'Hold' : 'Approve',
      })),
    },
  }));
}

/** A figure of policies that fail or stop early would be one of something else. */
function mustBeWhole(evaluation: Evaluation, policies: number): void {
  const { matches = [], failures = [] } = evaluation.kind === 'evaluated' ? evaluation.answer : {};
  if (evaluation.kind === 'evaluated' && failures.length === 0 && matches.length === policies) return;
  const why = failures[0]?.message ?? `${matches.length} of ${policies} policies have a rule that is true`;
  throw new RollcallError('UNEXPECTED', `a request was not judged as meant: ${evaluation.kind}, ${why}`);
}

async function evaluationMs(policies: readonly PolicyInForce[], count: number): Promise<number[]> {
  const evaluator = createPolicyEvaluator({ deadlineMs: 100 });
  const asked = policies.map(({ declaration, version }) => ({
    name: declaration.name,
    version,
    rules: declaration.rules,
  }));
  const took: number[] = [];
  try {
    for (let index = 0; index < count; index++) {
      const identity = identityOf(index);
      const fleet = { clusters: index, pending: 0, approvedToday: 0, bySet: {}, byPolicyToday: {} };
      const context = { token: undefined, keyChanged: false, fleet, nowMs: startMs };
      const input = JSON.stringify(policyInput(identity, context));
      const from = performance.now();
      const evaluation = await evaluator.evaluate({ policies: asked, input });
      took.push(performance.now() - from);
      mustBeWhole(evaluation, asked.length);
    }
  } finally {
    await evaluator.close();
  }
  // The first ones compile.
  return took.slice(Math.min(100, count / 2));
}

async function tryMs(policies: readonly PolicyInForce[], requests: number): Promise<number> {
  const log = generatedLog(requests);
  const from = performance.now();
  const { judged, counts } = await tryPolicies({ log, policies, fromMs: startMs });
  const tookMs = performance.now() - from;
  if (judged !== requests)
    throw new RollcallError('UNEXPECTED', `${judged} of ${requests} requests were judged`);
  // Those whose name ends in 9, by the rule for them; what could not be evaluated would be held too.
  const held = counts['approved → held'] ?? 0;
  if (held !== Math.floor(requests / 10))
    throw new RollcallError('UNEXPECTED', `${held} of ${requests} requests would be held`);
  return tookMs;
}

const evaluations = 2000;

/** @param requests - in the history that is tried */
export async function measurePolicies(
  requests: number,
  say: (message: string) => void,
): Promise<PolicyResult> {
  say(`judging ${evaluations} requests, one by one`);
  const took = await evaluationMs(tenByTen({ counting: true }), evaluations);
  say(`trying policies on ${requests} past requests, twice`);
  return {
    requests,
    evaluationMs: spreadOf(took),
    tryMs: await tryMs(tenByTen({ counting: false }), requests),
    tryCountingMs: await tryMs(tenByTen({ counting: true }), requests),
  };
}

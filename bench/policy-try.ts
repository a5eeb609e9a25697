import { createPolicyEvaluator, type PolicyInForce, policyInput } from '@rollcall/approver/policy';
import type { EventLog } from '@rollcall/shared/bus';
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
import { tryPolicies } from '../cli/policy/try-policy.ts';
import { quantile } from './quantile.ts';

/** How fast policies are: for one request, and over the history of a large hub. */
export interface PolicyResult {
  readonly requests: number;
  /** `policy try` over that many requests, from their encoded events on; without the way from the server. */
  readonly tryMs: number;
  /** One request by 10 policies of 10 rules each, with the way to the worker and back. */
  readonly evaluationMs: { readonly p50: number; readonly p99: number };
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

/** 10 policies with 10 rules each, of the kinds that the policy guide shows. */
export function tenByTen(): PolicyInForce[] {
  const names = Array.from({ length: 10 }, (_, index) => `${index}`);
  return names.map((policy) => ({
    version: policy,
    declaration: {
      name: `policy-${policy}`,
      uid: policy,
      generation: 1,
      withdrawn: false,
      rules: names.map((rule) => ({
        name: `rule-${rule}`,
        when: [
          `request.clusterName.matches("^edge-[0-9]*${rule}$")`,
          `has(request.labels.region) && request.labels.region == "eu"`,
          `fleet.clusters < ${policy}00000 && time.hour >= ${rule}`,
        ].join(' && '),
        effect: rule === '9' ? 'Hold' : 'Approve',
      })),
    },
  }));
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
      await evaluator.evaluate({ policies: asked, input });
      took.push(performance.now() - from);
    }
  } finally {
    await evaluator.close();
  }
  // The first ones compile.
  return took.slice(Math.min(100, count / 2));
}

export async function measurePolicies(requests = 100_000): Promise<PolicyResult> {
  const policies = tenByTen();
  const took = await evaluationMs(policies, 2000);
  const log = generatedLog(requests);
  const from = performance.now();
  const { judged } = await tryPolicies({ log, policies, fromMs: startMs });
  const tryMs = performance.now() - from;
  return {
    requests: judged,
    tryMs,
    evaluationMs: { p50: quantile(took, 0.5), p99: quantile(took, 0.99) },
  };
}

if (import.meta.main) {
  const {
    requests,
    tryMs,
    evaluationMs: evaluation,
  } = await measurePolicies(Number(process.argv[2] ?? 100_000));
  process.stdout.write(
    [
      `policy evaluation, 10 policies × 10 rules   p50 ${evaluation.p50.toFixed(3)} ms, p99 ${evaluation.p99.toFixed(3)} ms (≤ 1 ms)`,
      `policy try, ${requests} requests   ${(tryMs / 1000).toFixed(1)} s (≤ 30 s for 100,000)`,
      '',
    ].join('\n'),
  );
}

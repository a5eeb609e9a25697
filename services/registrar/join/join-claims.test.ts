import type { ClusterRecord, Identity, MemberProof } from '@rollcall/shared/events';
import type { JoinBody } from '@rollcall/shared/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { changedRequest, claimsIn } from './join-claims.ts';

const startMs = 1_700_000_000_000;
const minuteMs = 60_000;

function says(facts: JoinBody['facts'] = {}, labels: JoinBody['labels'] = {}): JoinBody {
  return { clusterId: 'id-1', clusterName: 'one', clusterType: 'Standard', mode: 'Pull', labels, facts };
}

const first = says(
  { kubernetesVersion: 'v1.30.0', nodes: { total: 3, ready: 3, schedulable: 3 } },
  { env: 'a' },
);

/** A cluster that has asked, and says it told of itself when it asked last. */
function waitingFor(
  toldAfterMs: number,
  {
    request,
    ...overrides
  }: Partial<Omit<Identity, 'request'>> & { request?: Partial<Identity['request']> } = {},
  decision: ClusterRecord['decision'] = aDecision({ requestId: 'request-1', key: 'K' }),
): ClusterRecord {
  const identity = anIdentity();
  return {
    aggregate: { kind: 'cluster', id: 'id-1' },
    head: { epoch: 1, sequence: 7, digest: 'd' },
    lastOf: { registrar: { timeMs: startMs + toldAfterMs } },
    identity: {
      ...identity,
      request: {
        ...identity.request,
        claimed: claimsIn(first),
        requestedAtMs: startMs,
        signedAtMs: startMs,
        ...request,
      },
      ...overrides,
    },
    decision,
  } as unknown as ClusterRecord;
}

interface Told {
  readonly agentKey?: string;
  readonly signedAtMs?: number;
  readonly member?: MemberProof;
  readonly cluster?: ClusterRecord;
}

function tell(
  body: JoinBody,
  afterMs: number,
  { agentKey = 'K', cluster = waitingFor(0), member, ...attempt }: Told = {},
) {
  const nowMs = startMs + afterMs;
  return changedRequest({ agentKey, signedAtMs: nowMs, ...attempt, body }, { cluster, member, nowMs });
}

/** Other labels, too: they stay those of the first attempt. */
const later = says({ ...first.facts, kubernetesVersion: 'v1.31.0', provider: 'gcp' }, { env: 'b' });

test('a cluster that waits is judged by what it says of itself now; the request stays the same one', () => {
  const [event, ...others] = tell(later, 5 * minuteMs);
  expect(others).toEqual([]);
  expect(event).toMatchObject({
    definition: { type: 'requested' },
    reason: 'ClaimsChanged',
    message: expect.stringContaining('kubernetesVersion, provider'),
    section: {
      state: 'requested',
      request: {
        id: 'request-1',
        key: 'K',
        labels: {},
        requestedAtMs: startMs,
        signedAtMs: startMs + 5 * minuteMs,
        claimed: { kubernetesVersion: 'v1.31.0', provider: 'gcp', nodesTotal: 3, labels: { env: 'a' } },
      },
    },
  });
});

test('what was said before is said once', () => {
  expect(tell(first, 5 * minuteMs)).toEqual([]);
});

test('facts that it no longer knows are gone', () => {
  const [event] = tell(says({ kubernetesVersion: 'v1.30.0' }, first.labels), 5 * minuteMs);
  expect(event?.message).toMatch(/: nodesTotal$/);
  expect(event?.section).not.toHaveProperty('request.claimed.nodesTotal');
});

test.each([
  {
    why: 'it has been let in',
    decision: aDecision({ verdict: 'approved', requestId: 'request-1', key: 'K', approvedKey: 'K' }),
  },
  { why: 'it has been denied', decision: aDecision({ verdict: 'denied', requestId: 'request-1', key: 'K' }) },
  { why: 'it is banned', decision: aDecision({ verdict: 'banned', requestId: 'request-1', key: 'K' }) },
])('nothing is judged again once $why', ({ decision }) => {
  expect(tell(later, 5 * minuteMs, { cluster: waitingFor(0, {}, decision) })).toEqual([]);
});

test('nothing is told of a cluster that left or was refused, nor by another key, nor in a rotation', () => {
  const isUntold = (told: Told) => expect(tell(later, 5 * minuteMs, told)).toEqual([]);
  isUntold({ cluster: waitingFor(0, { state: 'left' }) });
  isUntold({ cluster: waitingFor(0, { state: 'refused' }) });
  isUntold({ agentKey: 'L' });
  const rotation = { from: 'J', proof: { signed: 's', signatures: {} } };
  isUntold({ cluster: waitingFor(0, { request: { rotation } }) });
});

test('before the first decision, and of another key beside the one that is in, it is told too', () => {
  expect(tell(later, 5 * minuteMs, { cluster: waitingFor(0, {}, undefined) })).toHaveLength(1);
  const beside = aDecision({ verdict: 'approved', requestId: 'request-0', key: 'J', approvedKey: 'J' });
  const cluster = waitingFor(0, { state: 'admitted', admittedKey: 'J' }, beside);
  expect(tell(later, 5 * minuteMs, { cluster })).toMatchObject([
    { section: { state: 'admitted', admittedKey: 'J' } },
  ]);
});

test('a request that was long on its way undoes nothing that was heard since', () => {
  expect(tell(later, 5 * minuteMs, { signedAtMs: startMs + 4 * minuteMs - 1 })).toEqual([]);
  expect(tell(later, 5 * minuteMs, { signedAtMs: startMs + 4 * minuteMs })).toHaveLength(1);
});

test('a request that is older than one that was heard changes nothing, however fresh it looks by a clock that is behind', () => {
  const cluster = waitingFor(0, { request: { signedAtMs: startMs + 5 * minuteMs } });
  expect(tell(later, 5 * minuteMs, { cluster, signedAtMs: startMs + 5 * minuteMs - 1 })).toEqual([]);
  expect(tell(later, 5 * minuteMs, { cluster, signedAtMs: startMs + 5 * minuteMs })).toHaveLength(1);
});

test('what was heard while a clock was a year ahead keeps nothing from being heard once it is right', () => {
  const yearMs = 365 * 86_400_000;
  const cluster = waitingFor(yearMs, { request: { signedAtMs: startMs + yearMs } });
  expect(tell(later, 5 * minuteMs, { cluster })).toHaveLength(1);
});

test('other labels are no change: who decides sees those that an approval gives', () => {
  expect(tell(says(first.facts, { env: 'prod' }), 5 * minuteMs)).toEqual([]);
});

test('what a newer version keeps of it is neither a change nor lost', () => {
  const claimed = { ...claimsIn(first), newer: 'x' };
  const cluster = waitingFor(0, { request: { claimed } });
  expect(tell(first, 5 * minuteMs, { cluster })).toEqual([]);
  expect(tell(later, 5 * minuteMs, { cluster })).toMatchObject([
    { section: { request: { claimed: { newer: 'x', provider: 'gcp' } } } },
  ]);
});

test('a proof of member that could not be given before is taken, and one that holds stays', () => {
  const proven = { sameMember: true };
  const failed = { sameMember: false, problem: 'expired' };
  expect(tell(first, 5 * minuteMs, { member: failed })).toEqual([]);
  expect(tell(first, 5 * minuteMs, { member: proven })).toMatchObject([
    { message: expect.stringContaining('proof of member'), section: { request: { member: proven } } },
  ]);
  const cluster = waitingFor(0, { request: { member: proven } });
  expect(tell(later, 5 * minuteMs, { cluster, member: failed })).toMatchObject([
    { section: { request: { member: proven } } },
  ]);
});

test.each([
  { toldAfterMs: 0, heardAfterMs: minuteMs },
  { toldAfterMs: 10 * minuteMs, heardAfterMs: 20 * minuteMs },
  { toldAfterMs: 3000 * minuteMs, heardAfterMs: 4440 * minuteMs },
])('told after $toldAfterMs ms it is heard again after $heardAfterMs', ({ toldAfterMs, heardAfterMs }) => {
  const cluster = waitingFor(toldAfterMs);
  expect(tell(later, heardAfterMs - 1, { cluster })).toEqual([]);
  expect(tell(later, heardAfterMs, { cluster })).toHaveLength(1);
});

test('one that says something else every half minute fills no history', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 240 }), (hours) => {
      let toldAfterMs = 0;
      let told = 0;
      for (let afterMs = minuteMs / 2; afterMs <= hours * 60 * minuteMs; afterMs += minuteMs / 2) {
        const body = says({ region: `r-${afterMs}` });
        if (tell(body, afterMs, { cluster: waitingFor(toldAfterMs) }).length === 0) continue;
        toldAfterMs = afterMs;
        told++;
      }
      // Twelve until it has waited a day and a half, then one a day.
      expect(told).toBeLessThanOrEqual(12 + hours / 24);
      expect(told).toBeGreaterThanOrEqual(Math.min(6, hours));
    }),
    { numRuns: 20 },
  );
});

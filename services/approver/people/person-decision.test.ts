import { approved, type Decision, denied, held, leaving } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decidePersonDecision, type PersonDecision, readPersonDecision } from './person-decision.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';
import { aDecision, anIdentity, aRecord, aRequest, heartbeat, History, nowMs } from '../tests/builders.ts';

const aPersonDecision = (overrides: Partial<PersonDecision> = {}): PersonDecision => ({
  verdict: 'Approve',
  keyFingerprint: keyFingerprint('K1'),
  by: 'anna',
  reason: undefined,
  digest: 'd1',
  // A projection that shows everything there is.
  shown: { epoch: 1, sequence: 1_000_000 },
  ...overrides,
});
const deny = aPersonDecision({ verdict: 'Deny', digest: 'd2' });
const heldBefore = { definition: held, section: aDecision({ verdict: 'held', reason: 'NoRuleMatched' }) };
const approvedBefore = { definition: approved, section: aDecision() };
const deniedBefore = { definition: denied, section: aDecision({ verdict: 'denied', actedOn: 'd0' }) };

test.each([
  { name: 'approve what is held', before: heldBefore, decision: aPersonDecision(), want: 'approved' },
  { name: 'deny what is held', before: heldBefore, decision: deny, want: 'denied' },
  {
    name: 'approve what nobody has judged yet',
    before: undefined,
    decision: aPersonDecision(),
    want: 'approved',
  },
  { name: 'deny what is approved', before: approvedBefore, decision: deny, want: 'denied' },
  { name: 'approve what was denied', before: deniedBefore, decision: aPersonDecision(), want: 'approved' },
  {
    name: 'approve what is approved: noted, so that it counts once',
    before: approvedBefore,
    decision: aPersonDecision(),
    want: 'changed',
  },
  { name: 'deny what is denied: noted', before: deniedBefore, decision: deny, want: 'changed' },
  {
    name: 'a decision about another key',
    before: heldBefore,
    decision: aPersonDecision({ keyFingerprint: keyFingerprint('K2') }),
    want: undefined,
  },
  {
    name: 'a decision that was acted on',
    before: deniedBefore,
    decision: aPersonDecision({ digest: 'd0' }),
    want: undefined,
  },
  {
    name: 'a decision from a projection before the last one that was acted on',
    before: deniedBefore,
    decision: aPersonDecision({ shown: { epoch: 1, sequence: 0 } }),
    want: undefined,
  },
  {
    name: 'a decision from a projection before the last word of a policy',
    before: heldBefore,
    decision: aPersonDecision({ shown: { epoch: 1, sequence: 0 } }),
    want: 'approved',
  },
  {
    name: 'a cluster that leaves',
    before: { definition: leaving, section: aDecision({ verdict: 'leaving' }) },
    decision: aPersonDecision(),
    want: undefined,
  },
  {
    name: 'a banned cluster',
    before: { definition: denied, section: aDecision({ verdict: 'banned' }) },
    decision: aPersonDecision(),
    want: undefined,
  },
])('decidePersonDecision: $name → $want', ({ before, decision, want }) => {
  const record = aRecord(anIdentity(), before);
  const [event, ...more] = decidePersonDecision({ record, decision, heartbeat, nowMs });
  expect(event?.definition.type).toBe(want);
  expect(more).toEqual([]);
  if (!event) return;
  expect(event.by).toEqual({ person: 'anna' });
  const verdict = decision.verdict === 'Approve' ? 'approved' : 'denied';
  expect(event.section).toMatchObject({ verdict, actedOn: decision.digest });
});

test('an approval that was so already does not undo what a person takes back later', () => {
  const history = new History().identity(anIdentity({ state: 'admitted', admittedKey: 'K1' }));
  history.apply(
    decidePersonDecision({ record: history.record, decision: aPersonDecision(), heartbeat, nowMs }),
  );
  const again = aPersonDecision({ digest: 'another object, the same words' });
  history.apply(decidePersonDecision({ record: history.record, decision: again, heartbeat, nowMs }));
  expect(decidePersonDecision({ record: history.record, decision: again, heartbeat, nowMs })).toEqual([]);
});

test('a cluster that left cannot be approved', () => {
  const record = aRecord(anIdentity({ state: 'left' }));
  expect(decidePersonDecision({ record, decision: aPersonDecision(), heartbeat, nowMs })).toEqual([]);
});

test('a denial after approval takes the key back, and ends in revoked once', () => {
  const history = new History().identity(anIdentity({ state: 'admitted', admittedKey: 'K1' }));
  history.apply(
    decidePersonDecision({
      record: history.record,
      decision: aPersonDecision(),
      heartbeat,
      nowMs: nowMs - 1,
    }),
  );
  history.apply(decidePersonDecision({ record: history.record, decision: deny, heartbeat, nowMs }));
  expect(history.record.decision?.approvedKey).toBeUndefined();
  const [event] = history.apply(decideRevocation(history.record));
  expect(event?.definition.type).toBe('revoked');
  expect(event?.section).toMatchObject({ verdict: 'denied', revokedKeys: [{ key: 'K1', atMs: nowMs }] });
  expect(decideRevocation(history.record)).toEqual([]);
  history.apply(
    decidePersonDecision({
      record: history.record,
      decision: aPersonDecision({ digest: 'd3' }),
      heartbeat,
      nowMs: nowMs + 1,
    }),
  );
  expect(history.record.decision).toMatchObject({ verdict: 'approved', approvedKey: 'K1', revokedKeys: [] });
  expect(decideRevocation(history.record)).toEqual([]);
});

const twoKeys = () => {
  const history = new History().identity(
    anIdentity({ state: 'admitted', admittedKey: 'K0', request: aRequest({ id: 'R2' }) }),
  );
  const section = aDecision({ verdict: 'held', requestId: 'R2', approvedKey: 'K0', reason: 'KeyChanged' });
  history.apply([
    {
      definition: held,
      aggregate: history.record.aggregate,
      head: undefined,
      reason: 'KeyChanged',
      message: 'm',
      section,
    },
  ]);
  return history;
};

test('approving a new key replaces the old one, which is revoked', () => {
  const history = twoKeys();
  history.apply(
    decidePersonDecision({ record: history.record, decision: aPersonDecision(), heartbeat, nowMs }),
  );
  const [event] = history.apply(decideRevocation(history.record));
  expect(event?.reason).toBe('KeyReplaced');
  expect(event?.section).toMatchObject({
    verdict: 'approved',
    approvedKey: 'K1',
    revokedKeys: [{ key: 'K0', atMs: nowMs }],
  });
});

test('denying a new key leaves the owner alone', () => {
  const history = twoKeys();
  history.apply(decidePersonDecision({ record: history.record, decision: deny, heartbeat, nowMs }));
  expect(history.record.decision).toMatchObject({
    verdict: 'denied',
    key: 'K1',
    approvedKey: 'K0',
    revokedKeys: [],
  });
  expect(decideRevocation(history.record)).toEqual([]);
});

const object = (said: object | undefined, uid = 'u1') =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationRequest',
    metadata: { name: 'c-1', uid, resourceVersion: '1' },
    spec: {
      clusterId: 'c-1',
      clusterName: 'alpha',
      clusterType: 'Standard',
      mode: 'Pull',
      keyFingerprint: 'f',
      ...(said ? { decision: said } : {}),
    },
  }) as Parameters<typeof readPersonDecision>[0];

test('a decision without key or name is none, and the same words in another object are another decision', () => {
  const complete = { verdict: 'Approve', keyFingerprint: 'f', by: 'anna' };
  expect(readPersonDecision(object(undefined))).toBeUndefined();
  expect(readPersonDecision(object({ ...complete, by: undefined }))).toBeUndefined();
  expect(readPersonDecision(object({ ...complete, keyFingerprint: undefined }))).toBeUndefined();
  const first = readPersonDecision(object(complete))?.digest;
  expect(readPersonDecision(object({ ...complete }))?.digest).toBe(first);
  expect(readPersonDecision(object(complete, 'u2'))?.digest).not.toBe(first);
  expect((readPersonDecision(object({ ...complete, reason: 'x' })) as PersonDecision).digest).not.toBe(first);
});

test('the section says everything that the next one needs', () => {
  const record = aRecord(anIdentity(), heldBefore);
  const [event] = decidePersonDecision({
    record,
    decision: aPersonDecision({ reason: 'known' }),
    heartbeat,
    nowMs,
  });
  expect(event?.message).toBe('anna approves: known');
  expect(event?.section as Decision).toMatchObject({
    clusterName: 'alpha',
    namespace: 'alpha',
    labels: { env: 'test' },
    heartbeat,
  });
});

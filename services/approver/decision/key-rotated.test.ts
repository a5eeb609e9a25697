import { approved, type Decision, draft, type Identity } from '@rollcall/shared/events';
import { createNkey, type Nkey, signMessage } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { allKeysTaken, approvalAfter } from './decision-section.ts';
import { type ClusterObject, decideClusterChange } from '../people/cluster-change.ts';
import { leavesRequestOpen } from '../requests/judge-requests.ts';
import { decideRotationEnd } from './key-rotated.ts';
import { decideRequest } from '../requests/decide-request.ts';
import { decideRevocation } from './events-after-decision.ts';
import {
  aDecision,
  anIdentity,
  aRecord,
  aRequest,
  clusterId,
  heartbeat,
  History,
  nowMs,
} from '../tests/builders.ts';

const [old, next, thief] = [createNkey('user'), createNkey('user'), createNkey('user')];
const [K, N] = [old.publicKey, next.publicKey];
const outcome = { kind: 'evaluated', matches: [], failures: [] } as const;
const owner = aDecision({ requestId: 'R0', key: K, approvedKey: K });

function asking(signers: readonly Nkey[], said: Record<string, unknown> = {}, from = K) {
  const content = { verb: 'rotate', body: { clusterId, newKey: N }, ...said };
  const rotation = { from, proof: { ...signMessage(content, signers) } };
  return anIdentity({ state: 'admitted', admittedKey: K, request: aRequest({ key: N, rotation }) });
}
const recordOf = (identity: Identity, decision: Decision) => ({ ...aRecord(identity), decision });
const decided = (identity: ReturnType<typeof asking>, decision = owner) =>
  decideRequest({ record: recordOf(identity, decision), outcome, heartbeat, nowMs })[0];

test('the approved key signed for the new one: it is in without a person, and the old one not out yet', () => {
  const rotation = decided(asking([old, next]));
  expect(rotation).toMatchObject({ reason: 'KeyRotated', by: { service: 'agent' } });
  expect(rotation?.section).toMatchObject({ approvedKey: N, retiringKey: K, revokedKeys: [] });
});

test.each([
  { name: 'signed by the old key only', identity: asking([old]), want: 'KeyChanged' },
  { name: 'signed by the new key only', identity: asking([next]), want: 'KeyChanged' },
  {
    name: 'signed by a key that is not in',
    identity: asking([thief, next], {}, thief.publicKey),
    want: 'KeyChanged',
  },
  {
    name: 'about another cluster',
    identity: asking([old, next], { body: { clusterId: 'c-2', newKey: N } }),
    want: 'KeyChanged',
  },
  {
    name: 'about another new key',
    identity: asking([old, next], { body: { clusterId, newKey: thief.publicKey } }),
    want: 'KeyChanged',
  },
  {
    name: 'something else that both signed',
    identity: asking([old, next], { verb: 'join' }),
    want: 'KeyChanged',
  },
  {
    name: 'while a rotation is under way',
    identity: asking([old, next]),
    decision: { ...owner, retiringKey: thief.publicKey },
    want: 'KeyChanged',
  },
  {
    name: 'to a key that was taken back',
    identity: asking([old, next]),
    decision: { ...owner, revokedKeys: [{ key: N, atMs: 1 }] },
    want: 'KeyRevoked',
  },
  {
    name: 'of a banned cluster',
    identity: asking([old, next]),
    decision: { ...owner, verdict: 'banned' as const },
    want: undefined,
  },
])('$name → $want', ({ identity, decision = owner, want }) => {
  expect(decided(identity, decision)?.reason).toBe(want);
});

const rotated = { ...asking([old, next]), admittedKey: N, rotatedFrom: K, rotatedAtMs: nowMs };
const isIn = aDecision({ requestId: 'R1', key: N, approvedKey: N, retiringKey: K });

test.each([
  { name: 'the agent was heard with the new key', identity: rotated, want: [K] },
  { name: 'it was not yet', identity: { ...rotated, rotatedAtMs: undefined }, want: undefined },
  { name: 'of an earlier rotation', identity: { ...rotated, rotatedFrom: 'K9' }, want: undefined },
])('$name: taken back $want', ({ identity, want }) => {
  const { rotatedAtMs, ...rest } = identity;
  const given = rotatedAtMs === undefined ? rest : { ...rest, rotatedAtMs };
  const [end] = decideRotationEnd(recordOf(given, isIn), nowMs);
  const section = end?.section as typeof isIn | undefined;
  expect(section?.revokedKeys.map(({ key }) => key)).toEqual(want);
  expect(section?.approvedKey).toBe(want && N);
  expect(section?.retiringKey).toBeUndefined();
});

const revokedAfter = (decision: Decision) => {
  const [end] = decideRotationEnd(recordOf(rotated, decision), nowMs);
  return (end?.section as Decision | undefined)?.revokedKeys;
};

test('a key that its agent replaced is marked as such, one that a person wants replaced is taken back', () => {
  expect(revokedAfter(isIn)).toEqual([{ key: K, atMs: nowMs, rotated: true }]);
  const asked = { ...owner, rotationRequest: { key: K, atMs: nowMs } };
  const judged = decided(asking([old, next]), asked)?.section as Decision;
  expect(judged).toMatchObject({ approvedKey: N, retiringKey: K });
  expect(revokedAfter(judged)).toEqual([{ key: K, atMs: nowMs }]);
});

test('keys that its agent replaced are out as firmly as the others once the cluster is', () => {
  const before = aDecision({ ...isIn, revokedKeys: [{ key: 'K0', atMs: 1, rotated: true }] });
  const base = { identity: rotated, previous: before, heartbeat, nowMs };
  const taken = allKeysTaken(base, { by: {}, reason: 'R', message: 'm', verdict: 'leaving' });
  expect(taken.revokedKeys).toContainEqual({ key: 'K0', atMs: 1 });
  expect(taken.revokedKeys.some((revoked) => 'rotated' in revoked)).toBe(false);
  const another = { ...base, identity: { ...rotated, request: aRequest({ key: 'K7' }) } };
  const replaced = approvalAfter(another, { by: {}, reason: 'R', message: 'm' });
  expect(replaced.revokedKeys).toContainEqual({ key: 'K0', atMs: 1, rotated: true });
});

test('a member that rotates as often as it may for a year is decided about in a fraction of a message', () => {
  const [dayMs, hourMs] = [86_400_000, 3_600_000];
  const aKey = () => createNkey('user').publicKey;
  const former = { key: aKey(), atMs: 0, left: true };
  let section = aDecision({ ...isIn, revokedKeys: [former] });
  // The registrar takes 24 a day.
  for (let atMs = hourMs; atMs <= 365 * dayMs; atMs += hourMs) {
    const retiringKey = `U${atMs}`.padEnd(56, 'A');
    const [end] = decideRotationEnd(
      recordOf({ ...rotated, rotatedFrom: retiringKey }, { ...section, retiringKey }),
      atMs,
    );
    section = end?.section as typeof section;
  }
  expect(section.revokedKeys).toContainEqual(former);
  expect(section.revokedKeys).toHaveLength(1 + 7 * 24 + 64);
  expect(JSON.stringify(section).length).toBeLessThan(262_144 / 10);
});

test('whatever takes the cluster back in the middle takes both keys', () => {
  const base = { identity: { ...rotated, admittedKey: N }, previous: isIn, heartbeat, nowMs };
  const why = { by: {}, reason: 'R', message: 'm' };
  const taken = allKeysTaken(base, { ...why, verdict: 'leaving' });
  expect(taken.revokedKeys.map(({ key }) => key).toSorted()).toEqual([K, N].toSorted());
  expect(taken.retiringKey).toBeUndefined();
  const other = { ...base, identity: { ...base.identity, request: aRequest({ key: 'K7' }) } };
  expect(
    approvalAfter(other, why)
      .revokedKeys.map(({ key }) => key)
      .toSorted(),
  ).toEqual([K, N].toSorted());
});

test('access that is withdrawn and restored before the rotation is judged leaves it open, and it is judged then', () => {
  const identity = asking([old, next]);
  const object = (hubAcceptsClient: boolean): ClusterObject => ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'alpha', uid: 'u1', resourceVersion: '1' },
    spec: { clusterId, clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete', hubAcceptsClient },
    status: { observed: { epoch: 1, sequence: 2 } },
  });
  const history = new History().identity(identity);
  history.apply([draft(approved, history.record, { reason: 'R', message: 'm', section: owner })]);
  const operation = (hubAcceptsClient: boolean) =>
    decideClusterChange({
      record: history.record,
      object: object(hubAcceptsClient),
      heartbeat,
      nowMs,
      leaveWaitMs: 1,
    });
  history.apply(operation(false));
  history.apply(decideRevocation(history.record));
  const [restored] = operation(true);
  expect(restored).toMatchObject({ reason: 'AccessRestored', section: { verdict: 'held', approvedKey: K } });
  expect(restored && leavesRequestOpen(restored)).toBe(true);
  history.apply(restored ? [restored] : []);
  const [judged] = decideRequest({ record: history.record, outcome, heartbeat, nowMs });
  expect(judged).toMatchObject({ reason: 'KeyRotated', section: { approvedKey: N, retiringKey: K } });
  expect(judged && leavesRequestOpen(judged)).toBe(false);
});

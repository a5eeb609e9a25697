import { approved, banned, type Decision, denied, held, leaving, revoked } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { type ClusterObject, decideClusterChange } from './cluster-change.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';
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

type Operation = NonNullable<ClusterObject['spec']['operation']>;

function anObject(
  operation: Partial<Operation> | undefined,
  options: { spec?: object; observed?: { epoch: number; sequence: number } } = {},
): ClusterObject {
  return {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'alpha', uid: 'u1', resourceVersion: '1', labels: { env: 'test' } },
    spec: {
      clusterId,
      clusterType: 'Standard',
      mode: 'Pull',
      namespacePolicy: 'Delete',
      access: 'None',
      ...(operation === undefined
        ? {}
        : {
            operation: {
              id: 'w1',
              verb: 'Revoke',
              keyFingerprint: keyFingerprint('K1'),
              by: 'anna',
              ...operation,
            },
          }),
      ...options.spec,
    },
    status: { observed: { digest: 'sha256:x', ...(options.observed ?? { epoch: 1, sequence: 100 }) } },
  } as ClusterObject;
}

const member = anIdentity({ state: 'admitted', admittedKey: 'K1' });
const stranger = anIdentity({
  state: 'admitted',
  admittedKey: 'K1',
  request: aRequest({ id: 'R2', key: 'K2' }),
});
const memberBefore = { definition: approved, section: aDecision() };
const strangerHeld = {
  definition: held,
  section: aDecision({
    verdict: 'held',
    requestId: 'R2',
    key: 'K2',
    approvedKey: 'K1',
    reason: 'KeyChanged',
  }),
};
const bannedBefore = { definition: revoked, section: aDecision({ verdict: 'banned' }) };
const leavingBefore = {
  definition: revoked,
  section: aDecision({ verdict: 'leaving', leaveUntilMs: nowMs + 9 }),
};
const remembered = (...operations: string[]) => ({
  definition: approved,
  section: aDecision({ operations }),
});
const agentReplaced = {
  definition: revoked,
  section: aDecision({ revokedKeys: [{ key: 'K2', atMs: 1, rotated: true }] }),
};
const k2 = keyFingerprint('K2');

test.each([
  { name: 'no operation', operation: undefined, want: undefined },
  { name: 'Revoke of the key that is in', operation: {}, want: 'revoked' },
  { name: 'Revoke of another key', operation: { keyFingerprint: k2 }, want: undefined },
  {
    name: 'Revoke of the key that is just being replaced',
    before: { definition: approved, section: aDecision({ retiringKey: 'K2' }) },
    operation: { keyFingerprint: k2 },
    want: 'revoked',
  },
  {
    name: 'Revoke by a key that its agent replaced',
    before: agentReplaced,
    operation: { keyFingerprint: k2 },
    want: 'revoked',
  },
  {
    name: 'Ban by a key that its agent replaced',
    before: agentReplaced,
    operation: { verb: 'Ban', keyFingerprint: k2 },
    want: 'banned',
  },
  {
    name: 'Ban by the key that is being replaced',
    before: { definition: approved, section: aDecision({ retiringKey: 'K2' }) },
    operation: { verb: 'Ban', keyFingerprint: k2 },
    want: 'banned',
  },
  {
    name: 'Revoke by a key that a person replaced',
    before: { definition: approved, section: aDecision({ revokedKeys: [{ key: 'K2', atMs: 1 }] }) },
    operation: { keyFingerprint: k2 },
    want: undefined,
  },
  {
    name: 'Revoke by a key of a registration before',
    before: {
      definition: approved,
      section: aDecision({ revokedKeys: [{ key: 'K2', atMs: 1, rotated: true, left: true }] }),
    },
    operation: { keyFingerprint: k2 },
    want: undefined,
  },
  { name: 'Revoke that names no key', operation: { keyFingerprint: undefined }, want: undefined },
  { name: 'Revoke of nobody in particular', operation: { by: undefined }, want: undefined },
  { name: 'an operation that was acted on', before: remembered('w0', 'w1'), operation: {}, want: undefined },
  { name: 'a new operation after others', before: remembered('w0'), operation: {}, want: 'revoked' },
  {
    name: 'a new RotateKey in a projection from before our last word',
    before: remembered('w0'),
    operation: { verb: 'RotateKey' },
    observed: { epoch: 1, sequence: 1 },
    want: undefined,
  },
  {
    name: 'a new Revoke, whatever the projection shows',
    before: remembered('w0'),
    operation: {},
    observed: { epoch: 1, sequence: 1 },
    want: 'revoked',
  },
  {
    name: 'a first operation, whatever the projection shows',
    operation: {},
    observed: { epoch: 1, sequence: 1 },
    want: 'revoked',
  },
  { name: 'Revoke where nobody is in', before: bannedBefore, operation: {}, want: undefined },
  { name: 'Ban of a member', operation: { verb: 'Ban' }, want: 'banned' },
  { name: 'Ban that names an unknown key', operation: { verb: 'Ban', keyFingerprint: k2 }, want: undefined },
  {
    name: 'Ban by the key that asks',
    identity: stranger,
    before: strangerHeld,
    operation: { verb: 'Ban', keyFingerprint: k2 },
    want: 'banned',
  },
  { name: 'Ban of who is banned', before: bannedBefore, operation: { verb: 'Ban' }, want: undefined },
  { name: 'Ban of who leaves', before: leavingBefore, operation: { verb: 'Ban' }, want: undefined },
  { name: 'Unban of who is banned', before: bannedBefore, operation: { verb: 'Unban' }, want: 'unbanned' },
  { name: 'Unban of a member', operation: { verb: 'Unban' }, want: undefined },
  {
    name: 'ReplaceKey by the key that is held',
    identity: stranger,
    before: strangerHeld,
    operation: { verb: 'ReplaceKey', keyFingerprint: k2 },
    want: 'approved',
  },
  {
    name: 'ReplaceKey that names the old key',
    identity: stranger,
    before: strangerHeld,
    operation: { verb: 'ReplaceKey' },
    want: undefined,
  },
  {
    name: 'ReplaceKey where no other key asks',
    before: { definition: held, section: aDecision({ verdict: 'held' }) },
    operation: { verb: 'ReplaceKey' },
    want: undefined,
  },
  { name: 'RotateKey of the key that is in', operation: { verb: 'RotateKey' }, want: 'rotation-requested' },
  { name: 'RotateKey of another key', operation: { verb: 'RotateKey', keyFingerprint: k2 }, want: undefined },
  {
    name: 'RotateKey where nobody is in',
    before: bannedBefore,
    operation: { verb: 'RotateKey' },
    want: undefined,
  },
  {
    name: 'ForceDelete of who leaves',
    before: leavingBefore,
    operation: { verb: 'ForceDelete' },
    want: 'leaving',
  },
  { name: 'ForceDelete of who was not deleted', operation: { verb: 'ForceDelete' }, want: undefined },
] as {
  name: string;
  operation?: Partial<Operation>;
  identity?: typeof member;
  before?: Parameters<typeof aRecord>[1];
  observed?: { epoch: number; sequence: number };
  want: string | undefined;
}[])('$name → $want', ({ operation, identity = member, before = memberBefore, observed, want }) => {
  const record = aRecord(identity, before);
  const object = anObject(operation, observed ? { observed } : {});
  const [decision, ...more] = decideClusterChange({ record, object, heartbeat, nowMs, leaveWaitMs: 1000 });
  expect(more).toEqual([]);
  expect(decision?.definition.type).toBe(want);
  if (!decision) return;
  expect(decision.by).toEqual({ person: 'anna' });
  expect((decision.section as Decision).operations?.at(-1)).toBe('w1');
});

/** Plays operations one after another, each followed by the `revoked` that is due. */
function played(history: History, ...operations: Partial<Operation>[]): Decision {
  for (const [index, operation] of operations.entries()) {
    const object = anObject({ id: `w${index}`, ...operation });
    const at = nowMs + index * 1000;
    history.apply(
      decideClusterChange({ record: history.record, object, heartbeat, nowMs: at, leaveWaitMs: 1000 }),
    );
    history.apply(decideRevocation(history.record));
  }
  return history.record.decision as Decision;
}

function aHistory(identity = member, before = memberBefore as Parameters<typeof aRecord>[1]): History {
  const history = new History();
  history.events.push(
    ...Object.values(aRecord(identity, before).lastOf).filter((event) => event !== undefined),
  );
  return history;
}

test('a ban ends in revoked, and unbanned leaves the key out', () => {
  const history = aHistory();
  expect(played(history, { verb: 'Ban' })).toMatchObject({ verdict: 'banned', revokedKeys: [{ key: 'K1' }] });
  expect(history.record.lastOf.approver?.type).toBe('revoked');
  const after = played(history, {}, { verb: 'Unban' });
  expect(after).toMatchObject({ verdict: 'revoked', reason: 'Unbanned', revokedKeys: [{ key: 'K1' }] });
  expect(after.approvedKey).toBeUndefined();
});

test('a banned cluster does not leave by being deleted', () => {
  const deleted = anObject(undefined);
  const metadata = {
    ...deleted.metadata,
    deletionTimestamp: '2026-11-21T12:00:00Z',
    finalizers: ['rollcall.dev/leave'],
  };
  const record = aRecord(member, { definition: banned, section: aDecision({ verdict: 'banned' }) });
  const object = { ...deleted, metadata };
  expect(decideClusterChange({ record, object, heartbeat, nowMs, leaveWaitMs: 1000 })).toEqual([]);
});

test('revoking the owner leaves the request of another key as it is', () => {
  const decision = played(aHistory(stranger, strangerHeld), { verb: 'Revoke' });
  expect(decision).toMatchObject({
    verdict: 'held',
    key: 'K2',
    reason: 'KeyChanged',
    revokedKeys: [{ key: 'K1' }],
  });
  expect(decision.approvedKey).toBeUndefined();
});

test('a replaced key ends in revoked; until then the owner is untouched', () => {
  const history = aHistory(stranger, strangerHeld);
  const decision = played(history, { verb: 'ReplaceKey', keyFingerprint: k2 });
  expect(decision).toMatchObject({ verdict: 'approved', approvedKey: 'K2', revokedKeys: [{ key: 'K1' }] });
  expect(history.record.lastOf.approver).toMatchObject({ type: 'revoked', reason: 'KeyReplaced' });
});

test('a forced leaving waits for nobody and is not revoked twice', () => {
  const history = aHistory(member, leavingBefore);
  const decision = played(history, { verb: 'ForceDelete' });
  expect(decision).toMatchObject({ verdict: 'leaving', forced: true });
  expect(decision.leaveUntilMs).toBeUndefined();
  expect(history.record.lastOf.approver?.type).toBe(leaving.type);
});

test('hubAcceptsClient true gives back the key that false took, and never lets in another one that asks', () => {
  const history = aHistory(stranger, strangerHeld);
  const say = (hubAcceptsClient: boolean, at: number) => {
    const object = anObject(undefined, { spec: { hubAcceptsClient } });
    history.apply(
      decideClusterChange({ record: history.record, object, heartbeat, nowMs: at, leaveWaitMs: 1000 }),
    );
    history.apply(decideRevocation(history.record));
  };
  say(false, nowMs);
  expect(history.record.decision).toMatchObject({ verdict: 'denied', revokedKeys: [{ key: 'K1' }] });
  say(true, nowMs + 1000);
  expect(history.record.decision).toMatchObject({
    verdict: 'held',
    key: 'K2',
    approvedKey: 'K1',
    revokedKeys: [],
  });
});

test('what is remembered is bounded, newest last', () => {
  const many = Array.from({ length: 64 }, (_, index) => `old-${index}`);
  const decision = played(aHistory(member, remembered(...many)), { id: 'new' });
  expect(decision.operations).toHaveLength(64);
  expect(decision.operations?.at(-1)).toBe('new');
});

test('a request that waited when it was banned waits again', () => {
  const before = { definition: held, section: aDecision({ verdict: 'held' }) };
  expect(played(aHistory(anIdentity(), before), { verb: 'Ban' }, { verb: 'Unban' }).verdict).toBe('held');
});

test('a denied cluster can be banned', () => {
  const before = { definition: denied, section: aDecision({ verdict: 'denied' }) };
  expect(played(aHistory(anIdentity(), before), { verb: 'Ban' }).verdict).toBe('banned');
});

import {
  approved,
  changed,
  cordoned,
  type Decision,
  denied,
  held,
  leaving,
  revoked,
} from '@rollcall/shared/events';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { describe, expect, test } from 'vitest';
import { type ClusterObject, decideClusterChange, isUntouched } from './cluster-change.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';
import { aDecision, anIdentity, aRecord, clusterId, heartbeat, History, nowMs } from '../tests/builders.ts';

interface ObjectParts {
  metadata?: Partial<ClusterObject['metadata']>;
  spec?: Partial<ClusterObject['spec']>;
  observed?: { epoch: number; sequence: number } | undefined;
}
const anObject = ({
  metadata = {},
  spec = {},
  observed = { epoch: 1, sequence: 2 },
}: ObjectParts = {}): ClusterObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ManagedCluster',
  metadata: {
    name: 'alpha',
    uid: 'u1',
    resourceVersion: '1',
    labels: { env: 'test', 'rollcall.dev/cluster-id': clusterId },
    ...metadata,
  },
  spec: {
    clusterId,
    clusterType: 'Standard',
    mode: 'Pull',
    namespacePolicy: 'Delete',
    ...spec,
  },
  status: { observed },
});
const leaveWaitMs = 30_000;
const deleted = { deletionTimestamp: '2026-11-21T12:00:00Z', finalizers: ['rollcall.dev/leave'] };
const manyLabels = Object.fromEntries(Array.from({ length: 70 }, (_, nr) => [`label-${nr}`, 'x']));
const member = anIdentity({ state: 'admitted', admittedKey: 'K1' });
const approvedBefore = { definition: approved, section: aDecision() };
const withdrawn = {
  definition: revoked,
  section: aDecision({
    verdict: 'denied',
    reason: 'AccessWithdrawn',
    withdrawnKey: 'K1',
    revokedKeys: [{ key: 'K1', atMs: nowMs - 1000 }],
  }),
};

test.each([
  { name: 'an unchanged object', object: anObject(), want: undefined },
  { name: 'deleted behind our finalizer', object: anObject({ metadata: deleted }), want: 'leaving' },
  {
    name: 'deleted without our finalizer',
    object: anObject({ metadata: { ...deleted, finalizers: [] } }),
    want: undefined,
  },
  {
    name: 'leaving already',
    before: { definition: leaving, section: aDecision({ verdict: 'leaving' }) },
    object: anObject({ metadata: deleted }),
    want: undefined,
  },
  {
    name: 'a deletion that was acted on',
    before: { definition: approved, section: aDecision({ leavingUid: 'u1' }) },
    object: anObject({ metadata: deleted }),
    want: undefined,
  },
  { name: 'hubAcceptsClient false', object: anObject({ spec: { hubAcceptsClient: false } }), want: 'denied' },
  {
    name: 'hubAcceptsClient false while nobody is in',
    before: { definition: held, section: aDecision({ verdict: 'held' }) },
    object: anObject({ spec: { hubAcceptsClient: false } }),
    want: undefined,
  },
  {
    name: 'hubAcceptsClient true gives back what false took',
    before: withdrawn,
    object: anObject({ spec: { hubAcceptsClient: true } }),
    want: 'approved',
  },
  { name: 'hubAcceptsClient unset is no change', before: withdrawn, object: anObject(), want: undefined },
  {
    name: 'hubAcceptsClient true lets in nobody whom a person denied',
    before: { definition: denied, section: aDecision({ verdict: 'denied', reason: 'PersonDenied' }) },
    object: anObject({ spec: { hubAcceptsClient: true } }),
    want: undefined,
  },
  {
    name: 'deleting heartbeats accepting',
    before: withdrawn,
    object: anObject({ metadata: deleted, spec: { hubAcceptsClient: true } }),
    want: 'leaving',
  },
  { name: 'another label', object: anObject({ metadata: { labels: { env: 'prod' } } }), want: 'changed' },
  {
    name: 'a label of ours is no change',
    object: anObject({
      metadata: { labels: { env: 'test', 'rollcall.dev/created-by': 'x', 'a.k8s.io/b': 'c' } },
    }),
    want: undefined,
  },
  {
    name: 'without a label that no object can carry',
    before: {
      definition: approved,
      section: aDecision({ labels: { env: 'test', 'no key': 'x', x: '-', 'k8s.io/y': 'z' } }),
    },
    object: anObject({ metadata: { labels: { env: 'test' } } }),
    want: undefined,
  },
  {
    name: 'put into a set',
    object: anObject({ metadata: { labels: { env: 'test', 'rollcall.dev/cluster-set': 'x' } } }),
    want: 'changed',
  },
  {
    name: 'in the same set as before',
    before: { definition: approved, section: aDecision({ clusterSet: 'x' }) },
    object: anObject({ metadata: { labels: { env: 'test', 'rollcall.dev/cluster-set': 'x' } } }),
    want: undefined,
  },
  {
    name: 'taken out of its set',
    before: { definition: approved, section: aDecision({ clusterSet: 'x' }) },
    object: anObject(),
    want: 'changed',
  },
  {
    name: 'a heartbeat of its own',
    object: anObject({ spec: { heartbeat: { graceSeconds: 90 } } }),
    want: 'changed',
  },
  { name: 'cordoned', object: anObject({ spec: { unschedulable: true } }), want: 'cordoned' },
  {
    name: 'uncordoned',
    before: { definition: cordoned, section: aDecision({ unschedulable: true }) },
    object: anObject({ spec: { unschedulable: false } }),
    want: 'uncordoned',
  },
  {
    name: 'tainted',
    object: anObject({ spec: { taints: [{ key: 'gpu', effect: 'NoSchedule' }] } }),
    want: 'changed',
  },
  {
    name: 'cordoned while another key is held',
    before: {
      definition: held,
      section: aDecision({ verdict: 'held', key: 'K2', requestId: 'R2', approvedKey: 'K1' }),
    },
    object: anObject({ spec: { unschedulable: true } }),
    want: 'cordoned',
  },
  {
    name: 'access taken away after another key was denied',
    before: {
      definition: denied,
      section: aDecision({
        verdict: 'denied',
        key: 'K2',
        requestId: 'R2',
        approvedKey: 'K1',
        access: 'Namespace',
      }),
    },
    object: anObject({ spec: { access: 'None' } }),
    want: 'changed',
  },
  {
    name: 'cordoned before anybody is in',
    before: { definition: held, section: aDecision({ verdict: 'held' }) },
    object: anObject({ spec: { unschedulable: true } }),
    want: undefined,
  },
  {
    name: 'more labels than we carry, all of them ours',
    before: { definition: approved, section: aDecision({ labels: manyLabels }) },
    object: anObject({ metadata: { labels: Object.fromEntries(Object.entries(manyLabels).toReversed()) } }),
    want: undefined,
  },
  {
    name: 'a projection from before our decision',
    object: anObject({ spec: { unschedulable: true }, observed: { epoch: 1, sequence: 1 } }),
    want: undefined,
  },
  {
    name: 'a projection of an earlier epoch',
    object: anObject({ spec: { unschedulable: true }, observed: { epoch: 0, sequence: 9 } }),
    want: undefined,
  },
  {
    name: 'a projection that shows nothing yet',
    object: { ...anObject({ spec: { unschedulable: true } }), status: {} },
    want: undefined,
  },
  {
    name: 'the object of another name',
    object: anObject({ metadata: { ...deleted, name: 'beta' } }),
    want: undefined,
  },
])('decideClusterChange: $name → $want', ({ before = approvedBefore, object, want }) => {
  const events = decideClusterChange({
    record: aRecord(member, before),
    object,
    heartbeat,
    leaveWaitMs,
    nowMs,
  });
  expect(events.map(({ definition }) => definition.type)).toEqual(want === undefined ? [] : [want]);
});

test.each([
  { says: false, before: approvedBefore, want: denied },
  { says: true, before: withdrawn, want: approved },
])(
  'hubAcceptsClient $says is by who wrote it, and by nobody where that is not known',
  ({ says, before, want }) => {
    const written = (annotations: Record<string, string>) =>
      decideClusterChange({
        record: aRecord(member, before),
        object: anObject({ metadata: { annotations }, spec: { hubAcceptsClient: says } }),
        heartbeat,
        leaveWaitMs,
        nowMs,
      });
    for (const [annotations, person] of [
      [{ 'rollcall.dev/changed-by': 'anna' }, 'anna'],
      [{}, 'unknown'],
    ] as const) {
      const [event] = written(annotations);
      expect(event).toMatchObject({ definition: want, by: { person }, section: { by: { person } } });
    }
  },
);

describe('hubAcceptsClient true while the request of a newcomer waits', () => {
  const asks = anIdentity();
  const waits = {
    definition: held,
    section: aDecision({ verdict: 'held', approvedKey: undefined! }),
  };
  const changedBy = { 'rollcall.dev/changed-by': 'anna' };
  const shows = (status: string, reason: string, observed = { epoch: 1, sequence: 2 }) => ({
    status: {
      observed,
      conditions: [{ type: 'Accepted', status, reason }],
    } as unknown as ManagedCluster['status'] & object,
  });
  const said = (
    shown: { status?: ManagedCluster['status'] & object },
    annotations: Record<string, string> = changedBy,
  ) => {
    const { status: _none, ...object } = anObject({
      metadata: { annotations },
      spec: { hubAcceptsClient: true },
    });
    return { ...object, ...shown };
  };
  const decide = (identity: typeof asks, before: typeof waits, object: ClusterObject) =>
    decideClusterChange({ record: aRecord(identity, before), object, heartbeat, leaveWaitMs, nowMs });

  test('approves it, in the name of who wrote it', () => {
    const [event] = decide(asks, waits, said(shows('False', 'NoRuleMatched')));
    expect(event).toMatchObject({
      definition: approved,
      reason: 'PersonApproved',
      by: { person: 'anna' },
      section: { verdict: 'approved', approvedKey: 'K1', by: { person: 'anna' } },
    });
  });

  test.each([
    { name: 'it stood there before', object: said(shows('False', 'AcceptNotHeard')) },
    { name: 'nothing is shown yet', object: said({}) },
    {
      name: 'an older decision is shown',
      object: said(shows('False', 'NoRuleMatched', { epoch: 1, sequence: 1 })),
    },
    { name: 'an earlier epoch is shown', object: said(shows('False', 'X', { epoch: 0, sequence: 9 })) },
    { name: 'nobody says who', object: said(shows('False', 'NoRuleMatched'), {}) },
    { name: 'nobody was judged yet', object: said(shows('Unknown', 'Undecided')) },
  ])('is no decision where $name', ({ object }) => {
    expect(decide(asks, waits, object)).toEqual([]);
  });

  test('lets in no other key than the one that was judged', () => {
    const other = anIdentity({ request: { ...asks.request, id: 'R2', key: 'K2' } });
    expect(decide(other, waits, said(shows('False', 'NoRuleMatched')))).toEqual([]);
    const ofMember = {
      ...waits,
      section: { ...waits.section, key: 'K2', requestId: 'R2', approvedKey: 'K1' },
    };
    expect(
      decide({ ...other, ...member, request: other.request }, ofMember, said(shows('False', 'KeyChanged'))),
    ).toEqual([]);
  });

  test('lets nobody in under a name that its object does not have', () => {
    const renamed = { ...asks, clusterName: 'of-a-registrar' };
    expect(decide(renamed, waits, said(shows('False', 'NoRuleMatched')))).toEqual([]);
  });
});

test('true is by who wrote it also where another key has asked meanwhile', () => {
  const asked = { ...member, request: { ...member.request, key: 'K2' } };
  const [event] = decideClusterChange({
    record: aRecord(asked, withdrawn),
    object: anObject({
      metadata: { annotations: { 'rollcall.dev/changed-by': 'anna' } },
      spec: { hubAcceptsClient: true },
    }),
    heartbeat,
    leaveWaitMs,
    nowMs,
  });
  expect(event).toMatchObject({ by: { person: 'anna' } });
  expect(event?.section).toMatchObject({ verdict: 'held', reason: 'KeyChanged', by: { person: 'anna' } });
});

test('what a person says of a member leaves the request of another key as it is', () => {
  const stranger = {
    verdict: 'held',
    key: 'K2',
    requestId: 'R2',
    approvedKey: 'K1',
    reason: 'KeyChanged',
  } as const;
  const [event] = decideClusterChange({
    record: aRecord(member, { definition: held, section: aDecision(stranger) }),
    object: anObject({ spec: { unschedulable: true } }),
    heartbeat,
    leaveWaitMs,
    nowMs,
  });
  expect(event?.section).toMatchObject({ ...stranger, unschedulable: true });
});

test('leaving takes every key back, keeps the policy for the namespace, and ends in revoked', () => {
  const history = new History().identity(member);
  history.apply([
    { ...approvedBefore, aggregate: history.record.aggregate, head: undefined, reason: 'R', message: 'm' },
  ]);
  const metadata = { ...deleted, annotations: { 'rollcall.dev/leave-requested-by': 'anna' } };
  const object = anObject({ metadata, spec: { namespacePolicy: 'Keep' } });
  const [event] = history.apply(
    decideClusterChange({ record: history.record, object, heartbeat, leaveWaitMs, nowMs }),
  );
  expect(event?.by).toEqual({ person: 'anna' });
  expect(event?.section).toMatchObject({
    verdict: 'leaving',
    namespacePolicy: 'Keep',
    leavingUid: 'u1',
    revokedKeys: [{ key: 'K1', atMs: nowMs }],
  });
  // An operation waits until the last decision has had its effect.
  const relabelled = anObject({ metadata: { labels: {} }, observed: { epoch: 1, sequence: 9 } });
  expect(
    decideClusterChange({ record: history.record, object: relabelled, heartbeat, leaveWaitMs, nowMs }),
  ).toEqual([]);
  const [after] = history.apply(decideRevocation(history.record));
  expect(after?.section).toMatchObject({ verdict: 'leaving' });
});

test.each([
  { had: 'None', says: undefined, want: [] },
  { had: 'Namespace', says: undefined, want: [] },
  { had: 'None', says: 'Namespace', want: ['Namespace'] },
  { had: 'Namespace', says: 'None', want: ['None'] },
  { had: 'Namespace', says: 'Namespace', want: [] },
] as const)('access $had, and a person says $says', ({ had, says, want }) => {
  const before = { ...approvedBefore, section: { ...(approvedBefore.section as Decision), access: had } };
  const object = anObject(says === undefined ? {} : { spec: { access: says } });
  const record = aRecord(member, before);
  const events = decideClusterChange({ record, object, heartbeat, leaveWaitMs, nowMs });
  expect(events.map(({ section }) => (section as Decision).access)).toEqual(want);
});

test.each([
  { had: undefined, says: 'Denied', want: ['Denied'] },
  { had: undefined, says: 'Allowed', want: [] },
  { had: 'Denied', says: undefined, want: [] },
  { had: 'Denied', says: 'Denied', want: [] },
  { had: 'Denied', says: 'Allowed', want: [undefined] },
] as const)('access to the member $had, and a person says $says', ({ had, says, want }) => {
  const memberAccess = had === undefined ? {} : { memberAccess: had };
  const before = { ...approvedBefore, section: { ...(approvedBefore.section as Decision), ...memberAccess } };
  const object = anObject(says === undefined ? {} : { spec: { memberAccess: says } });
  const record = aRecord(member, before);
  const events = decideClusterChange({ record, object, heartbeat, leaveWaitMs, nowMs });
  expect(events.map(({ section }) => (section as Decision).memberAccess)).toEqual(want);
});

test.each([
  {
    unschedulable: true,
    want: cordoned,
    says: 'a person cordoned the cluster, and changed labels or settings',
  },
  { unschedulable: false, want: changed, says: 'a person changed labels or settings of the cluster' },
])('$want.type keeps the verdict and says all new settings', ({ unschedulable, want, says }) => {
  const object = anObject({
    metadata: { labels: { env: 'prod', team: 'a' } },
    spec: { unschedulable },
  });
  const [event] = decideClusterChange({
    record: aRecord(member, approvedBefore),
    object,
    heartbeat,
    leaveWaitMs,
    nowMs,
  });
  expect(event).toMatchObject({ definition: want, message: says });
  expect(event?.section as Decision).toMatchObject({
    verdict: 'approved',
    approvedKey: 'K1',
    labels: { env: 'prod', team: 'a' },
    unschedulable,
    heartbeat,
  });
});

test.each([
  { from: undefined, to: 'b', says: 'a person put the cluster into set "b"' },
  { from: 'a', to: 'b', says: 'a person put the cluster into set "b", out of set "a"' },
  { from: 'a', to: undefined, says: 'a person put the cluster out of set "a"' },
  {
    from: 'a',
    to: 'b',
    setProblem: 'there is no set "b"',
    says: 'a person put the cluster into set "b", out of set "a": there is no set "b"',
  },
  {
    from: 'a',
    to: 'b',
    env: 'prod',
    says: 'a person changed labels or settings of the cluster, and put the cluster into set "b", out of set "a"',
  },
])('moved from set $from to $to: $says', ({ from, to, setProblem, env = 'test', says }) => {
  const labels = { env, ...(to === undefined ? {} : { 'rollcall.dev/cluster-set': to }) };
  const before = aDecision(from === undefined ? {} : { clusterSet: from });
  const record = aRecord(member, { definition: approved, section: before });
  const object = anObject({ metadata: { labels } });
  const [event] = decideClusterChange({ record, object, heartbeat, leaveWaitMs, nowMs, setProblem });
  expect(event?.message).toBe(says);
  const section = event?.section as Decision;
  expect(section.clusterSet).toBe(to);
  expect('clusterSet' in section).toBe(to !== undefined);
  expect(section).toMatchObject({ verdict: 'approved', approvedKey: 'K1', labels: { env } });
});

const ours = { env: 'test', 'rollcall.dev/cluster-id': clusterId, 'rollcall.dev/created-by': 'projector' };
const asMade = { labels: ours, generation: 1, finalizers: ['rollcall.dev/leave'] };
const unshown = { status: {} };
test.each([
  { name: 'as the projector made it', object: { ...anObject({ metadata: asMade }), ...unshown }, want: true },
  {
    name: 'with a status, which says what to compare labels with',
    object: anObject({ metadata: asMade }),
    want: false,
  },
  {
    name: 'with a changed spec',
    object: { ...anObject({ metadata: { ...asMade, generation: 2 } }), ...unshown },
    want: false,
  },
  {
    name: 'deleted before its first status',
    object: { ...anObject({ metadata: { ...asMade, ...deleted } }), ...unshown },
    want: false,
  },
  {
    name: 'made by a person',
    object: { ...anObject({ metadata: { ...asMade, labels: { env: 'test' } } }), ...unshown },
    want: false,
  },
])('an object $name is untouched: $want', ({ object, want }) => {
  expect(isUntouched(object)).toBe(want);
});

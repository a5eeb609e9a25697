import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusterRecord, foldRecord, type StoredEvent } from '@rollcall/shared/events';
import { managedCluster, type ManagedCluster } from '@rollcall/shared/resources';
import {
  aDecision,
  aLiveness,
  aMember,
  anAccess,
  anIdentity,
  aRecord,
  clusterEvents,
  clusterId,
  member,
  type Sections,
  startMs,
} from '../tests/cluster-record.builder.ts';
import { type ClusterStatus, desiredCluster } from './desired-cluster.ts';

const facts = { facts: { readyz: true, kubernetesVersion: 'v1.36.4' }, sequence: 7, epoch: 1 };

function present(sections: Sections, current?: ManagedCluster) {
  const wanted = desiredCluster(aRecord(sections), facts, current);
  if (wanted.presence !== 'present') throw new Error(`the cluster is ${wanted.presence}`);
  return wanted;
}

function conditionOf(status: ClusterStatus, type: string): string {
  const found = status.conditions?.find((condition) => condition.type === type);
  return `${found?.status} ${found?.reason}`;
}

function readyTime(status: ClusterStatus): string | undefined {
  return status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
}

function recordOf(events: StoredEvent[]) {
  return clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, events));
}

const revokedKeys = [{ key: 'KEY1', atMs: startMs + 5000 }];

describe('Ready', () => {
  test.each([
    { name: 'approved, never seen', sections: aMember({ liveness: undefined! }), want: 'Unknown NeverSeen' },
    { name: 'heartbeats come', sections: aMember(), want: 'True Alive' },
    {
      name: 'connection lost',
      sections: aMember({ liveness: aLiveness({ state: 'suspect', cause: 'ConnectionLost' }) }),
      want: 'Unknown ConnectionLost',
    },
    {
      name: 'a heartbeat is overdue',
      sections: aMember({ liveness: aLiveness({ state: 'suspect', cause: 'NoHeartbeats' }) }),
      want: 'Unknown NoHeartbeats',
    },
    {
      name: 'held by an outage',
      sections: aMember({ liveness: aLiveness({ state: 'suspect', cause: 'OutageHeld' }) }),
      want: 'Unknown OutageHeld',
    },
    {
      name: 'suspect for a reason of a newer version',
      sections: aMember({ liveness: aLiveness({ state: 'suspect', cause: 'MoonPhase' }) }),
      want: 'Unknown NoHeartbeats',
    },
    {
      name: 'silent for the grace',
      sections: aMember({ liveness: aLiveness({ state: 'unreachable', cause: 'Unreachable' }) }),
      want: 'False Unreachable',
    },
    {
      name: 'goodbye',
      sections: aMember({ liveness: aLiveness({ state: 'stopped', cause: 'AgentStopped' }) }),
      want: 'False AgentStopped',
    },
    {
      name: 'the agent sends heartbeats, its API server does not answer',
      sections: aMember({ liveness: aLiveness({ cause: 'MemberAPIDown' }) }),
      want: 'False MemberAPIDown',
    },
    {
      name: 'denied while it sends heartbeats',
      sections: aMember({ decision: aDecision({ verdict: 'denied', revokedKeys }) }),
      want: 'False Denied',
    },
    {
      name: 'revoked while it sends heartbeats',
      sections: aMember({ decision: aDecision({ verdict: 'revoked', revokedKeys }) }),
      want: 'False Revoked',
    },
    {
      name: 'banned while it sends heartbeats',
      sections: aMember({ decision: aDecision({ verdict: 'banned', revokedKeys }) }),
      want: 'False Revoked',
    },
    {
      name: 'leaving while it sends heartbeats',
      sections: aMember({ decision: aDecision({ verdict: 'leaving', revokedKeys }) }),
      want: 'False Revoked',
    },
    {
      name: 'another key is held, the owner sends heartbeats',
      sections: aMember({
        decision: aDecision({ verdict: 'held', key: 'KEY2', approvedKey: 'KEY1', reason: 'KeyChanged' }),
      }),
      want: 'True Alive',
    },
    {
      name: 'another key is held, that of the member was taken back while it sent heartbeats',
      sections: aMember({
        decision: aDecision({ verdict: 'held', key: 'KEY2', reason: 'KeyChanged', revokedKeys }),
      }),
      want: 'False Revoked',
    },
    {
      name: 'another key is denied, the owner sends heartbeats',
      sections: aMember({ decision: aDecision({ verdict: 'denied', key: 'KEY2', approvedKey: 'KEY1' }) }),
      want: 'True Alive',
    },
    {
      name: 'the heartbeats are of an earlier key',
      sections: aMember({ liveness: aLiveness({ key: 'KEY0' }) }),
      want: 'Unknown NeverSeen',
    },
    {
      name: 'the join is of an earlier admission',
      sections: aMember({ liveness: aLiveness({ joinedAtMs: member.admittedAtMs - 1 }) }),
      want: 'Unknown NeverSeen',
    },
    {
      name: 'the join is exactly of this admission',
      sections: aMember({ liveness: aLiveness({ joinedAtMs: member.admittedAtMs }) }),
      want: 'True Alive',
    },
  ])('$name → $want', ({ sections, want }) => {
    expect(conditionOf(present(sections).status, 'Ready')).toBe(want);
  });
});

describe('the other conditions', () => {
  test.each([
    { name: 'approved', sections: aMember(), type: 'Accepted', want: 'True PolicyApproved' },
    {
      name: 'denied',
      sections: aMember({ decision: aDecision({ verdict: 'denied', reason: 'NotWanted' }) }),
      type: 'Accepted',
      want: 'False NotWanted',
    },
    {
      name: 'another key is held',
      sections: aMember({
        decision: aDecision({ verdict: 'held', key: 'KEY2', approvedKey: 'KEY1', reason: 'KeyChanged' }),
      }),
      type: 'Accepted',
      want: 'True Approved',
    },
    { name: 'joined', sections: aMember(), type: 'Joined', want: 'True Joined' },
    {
      name: 'not joined',
      sections: aMember({ liveness: undefined! }),
      type: 'Joined',
      want: 'Unknown NeverSeen',
    },
    { name: 'probes pass', sections: aMember(), type: 'MemberHealthy', want: 'True ProbesPass' },
    {
      name: 'probes of a member that is not seen',
      sections: aMember({ liveness: aLiveness({ state: 'suspect', cause: 'NoHeartbeats' }) }),
      type: 'MemberHealthy',
      want: 'Unknown NotSeen',
    },
    { name: 'credentials issued', sections: aMember(), type: 'CredentialsValid', want: 'True Issued' },
    {
      name: 'not admitted yet',
      sections: { identity: anIdentity(), decision: aDecision() },
      type: 'CredentialsValid',
      want: 'Unknown NotIssued',
    },
    {
      name: 'key taken back',
      sections: aMember({ decision: aDecision({ verdict: 'revoked', revokedKeys }) }),
      type: 'CredentialsValid',
      want: 'False Revoked',
    },
    { name: 'clock', sections: aMember(), type: 'ClockSynced', want: 'True ClockNear' },
    { name: 'not leaving', sections: aMember(), type: 'Deleting', want: 'False NotLeaving' },
    {
      name: 'leaving',
      sections: aMember({ decision: aDecision({ verdict: 'leaving' }) }),
      type: 'Deleting',
      want: 'True AccessRemoval',
    },
    {
      name: 'its access gone, its agent not',
      sections: aMember({
        decision: aDecision({ verdict: 'leaving', leaveUntilMs: 5000 }),
        access: { state: 'deprovisioned', namespace: 'blue', atMs: 1 },
      }),
      type: 'Deleting',
      want: 'True WaitingForAgent',
    },
    {
      name: 'its access gone, forced',
      sections: aMember({
        decision: aDecision({ verdict: 'leaving', leaveUntilMs: 5000, forced: true }),
        access: { state: 'deprovisioned', namespace: 'blue', atMs: 1 },
      }),
      type: 'Deleting',
      want: 'True Leaving',
    },
  ])('$type, $name → $want', ({ sections, type, want }) => {
    expect(conditionOf(present(sections).status, type)).toBe(want);
  });

  test.each([
    { reported: undefined, want: 'Unknown NotReported: the agent has not compared its clock' },
    { reported: {}, want: "True ClockNear: the agent finds its clock within 5 s of the hub's" },
    {
      reported: { clockAheadSeconds: 3600 },
      want: "False ClockOff: the clock of the agent is 3600 s ahead of the hub's",
    },
    {
      reported: { clockAheadSeconds: -60 },
      want: "False ClockOff: the clock of the agent is 60 s behind the hub's",
    },
  ])('the clock, from $reported → $want', ({ reported, want }) => {
    const wanted = desiredCluster(aRecord(aMember()), reported && { ...facts, facts: reported }, undefined);
    const status = wanted.presence === 'present' ? wanted.status : {};
    const clock = status.conditions?.find(({ type }) => type === 'ClockSynced');
    expect(`${clock?.status} ${clock?.reason}: ${clock?.message}`).toBe(want);
  });

  test('a deletion that nobody has decided about yet is shown', () => {
    const { shape } = present(aMember());
    const current = {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedCluster',
      metadata: { name: 'blue', deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: { ...shape.spec, namespacePolicy: 'Delete' },
    } as const;
    expect(conditionOf(present(aMember(), current).status, 'Deleting')).toBe('True WaitingForDecision');
  });

  test('leaving says what remains', () => {
    const { status } = present(aMember({ decision: aDecision({ verdict: 'leaving', revokedKeys }) }));
    const message = status.conditions?.find(({ type }) => type === 'Deleting')?.message;
    expect(message).toBe(
      'remaining: its connection, its access in namespace "blue", the word of the registrar',
    );
  });

  test('leaving says what keeps the namespace', () => {
    const access = anAccess({ state: 'deprovisioned', namespaceStays: 'in it: 2 ConfigMap' });
    const decision = aDecision({ verdict: 'leaving', revokedKeys });
    const { status } = present(aMember({ decision, access }));
    const message = status.conditions?.find(({ type }) => type === 'Deleting')?.message;
    expect(message).toContain('; namespace "blue" stays, in it: 2 ConfigMap');
  });
});

describe('whether there is an object', () => {
  test.each([
    { name: 'nothing known', sections: {}, want: 'unmentioned' },
    { name: 'asked', sections: { identity: anIdentity() }, want: 'unmentioned' },
    {
      name: 'held',
      sections: { identity: anIdentity(), decision: aDecision({ verdict: 'held' }) },
      want: 'present',
    },
    {
      name: 'denied before any approval',
      sections: { identity: anIdentity(), decision: aDecision({ verdict: 'denied' }) },
      want: 'unmentioned',
    },
    { name: 'approved', sections: { identity: anIdentity(), decision: aDecision() }, want: 'present' },
    {
      name: 'denied after it was in',
      sections: aMember({ decision: aDecision({ verdict: 'denied' }) }),
      want: 'present',
    },
    { name: 'leaving', sections: aMember({ decision: aDecision({ verdict: 'leaving' }) }), want: 'present' },
    {
      name: 'left',
      sections: aMember({
        identity: anIdentity({ state: 'left' }),
        decision: aDecision({ verdict: 'leaving' }),
      }),
      want: 'gone',
    },
    {
      name: 'left and asked again before anybody looked',
      sections: {
        identity: anIdentity({ request: { ...anIdentity().request, id: 'request-2' } }),
        decision: aDecision({ verdict: 'leaving' }),
        access: anAccess({ state: 'deprovisioned' }),
      },
      want: 'gone',
    },
    {
      name: 'another key asks in the middle of leaving',
      sections: aMember({
        identity: anIdentity({
          ...member,
          request: { ...anIdentity().request, id: 'request-2', key: 'KEY2' },
        }),
        decision: aDecision({ verdict: 'leaving' }),
        access: anAccess({ state: 'deprovisioned' }),
      }),
      want: 'present',
    },
  ])('$name → $want', ({ sections, want }) => {
    expect(desiredCluster(aRecord(sections), undefined, undefined).presence).toBe(want);
  });
});

test.each([
  { verdict: 'banned', reason: 'PersonBanned', want: 'False PersonBanned' },
  { verdict: 'held', reason: 'Unbanned', want: 'Unknown Unbanned' },
] as const)('of a cluster that came after the backup, only a ban is known → $want', ({ want, ...said }) => {
  const { requestId: _none, key: _nobody, ...decision } = aDecision(said);
  const current = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'blue' },
    spec: { clusterId, clientId: 'blue-1', clusterType: 'Edge', mode: 'Push', namespacePolicy: 'Delete' },
  } as const;
  const { shape, status } = present({ decision }, current);
  expect(conditionOf(status, 'Accepted')).toBe(want);
  expect(status.observed).toMatchObject({ sequence: 2 });
  expect(shape.spec).toEqual({ clusterId, clientId: 'blue-1', clusterType: 'Edge', mode: 'Push' });
  expect(desiredCluster(aRecord({ decision }), undefined, undefined).presence).toBe('unmentioned');
});

test('a joined cluster shows everything that is known', () => {
  const { shape, status } = present(aMember());
  expect(shape).toEqual({
    labels: {
      team: 'a',
      'rollcall.dev/cluster-id': clusterId,
      'rollcall.dev/cluster-name': 'blue',
      'rollcall.dev/registered-by': 'agent',
      'rollcall.dev/created-by': 'projector',
    },
    finalizers: ['rollcall.dev/leave'],
    spec: { clusterId, clusterType: 'Standard', mode: 'Pull' },
    settings: { namespacePolicy: 'Delete' },
  });
  expect(status).toMatchObject({
    namespace: 'blue',
    liveness: 'ready',
    lastSeen: 'live',
    kubernetesVersion: 'v1.36.4',
    readyz: true,
    keyFingerprint: 'aaaa-bbbb-cccc-dddd',
    decision: {
      by: 'policy:default',
      policy: 'default',
      rule: 'valid-token',
      reason: 'PolicyApproved',
      at: '2026-01-01T00:00:02Z',
    },
    observed: { epoch: 1, sequence: 4 },
    observedFacts: { epoch: 1, sequence: 7 },
  });
});

test('a cluster that is not ready shows when it was last heard', () => {
  const liveness = aLiveness({
    state: 'unreachable',
    cause: 'Unreachable',
    lastHeartbeatAtMs: startMs + 61_999,
  });
  expect(present(aMember({ liveness })).status.lastSeen).toBe('2026-01-01T00:01:01Z');
});

test.each(['denied', 'revoked', 'banned', 'leaving'] as const)(
  'a cluster that sent heartbeats until it was %s was last heard then, and not when it came',
  (verdict) => {
    const { status } = present(aMember({ decision: aDecision({ verdict, revokedKeys }) }));
    expect(status.lastSeen).toBe('2026-01-01T00:00:05Z');
  },
);

test('labels of a reserved prefix, and those that Kubernetes refuses, do not get into the object', () => {
  const labels = {
    'rollcall.dev/cluster-id': 'other',
    'a.k8s.io/x': 'y',
    'bad key': 'x',
    good: 'not good!',
    'x.dev/y': 'z',
  };
  const { shape } = present(aMember({ decision: aDecision({ labels }) }));
  expect(Object.keys(shape.labels).filter((key) => !key.startsWith('rollcall.dev/'))).toEqual(['x.dev/y']);
  expect(shape.labels['rollcall.dev/cluster-id']).toBe(clusterId);
});

test('a condition keeps its time while its status stays', () => {
  const before = present(
    aMember({ liveness: aLiveness({ state: 'unreachable', sinceMs: startMs + 10_000 }) }),
  );
  const current = { metadata: { name: 'blue' }, status: before.status } as ManagedCluster;
  const spec = before.shape.spec as ManagedCluster['spec'];
  const stopped = present(aMember({ liveness: aLiveness({ state: 'stopped', sinceMs: startMs + 20_000 }) }), {
    ...current,
    spec,
  });
  const back = present(aMember({ liveness: aLiveness({ sinceMs: startMs + 30_000 }) }), { ...current, spec });
  expect(readyTime(stopped.status)).toBe('2026-01-01T00:00:10Z');
  expect(readyTime(back.status)).toBe('2026-01-01T00:00:30Z');
});

const anything: fc.Arbitrary<Sections> = fc
  .record({
    identity: fc.record({
      state: fc.constantFrom('requested', 'refused', 'admitted', 'left'),
      admittedKey: fc.constantFrom(undefined, 'KEY1', 'KEY2'),
      id: fc.constantFrom('request-1', 'request-2'),
    }),
    verdict: fc.option(
      fc.constantFrom('approved', 'held', 'denied', 'revoked', 'banned', 'leaving', 'predefined'),
      { nil: undefined },
    ),
    approvedKey: fc.constantFrom(undefined, 'KEY1', 'KEY2'),
    reason: fc.string(),
    access: fc.option(fc.constantFrom('provisioned', 'failed', 'deprovisioned'), { nil: undefined }),
    liveness: fc.option(fc.constantFrom('ready', 'suspect', 'unreachable', 'stopped'), { nil: undefined }),
    cause: fc.string(),
  })
  .map(({ identity, verdict, approvedKey, reason, access, liveness, cause }) => {
    const { state, admittedKey, id } = identity;
    const request = { ...anIdentity().request, id };
    return {
      identity: anIdentity({ state, request, ...(admittedKey === undefined ? {} : { admittedKey }) }),
      ...(verdict === undefined
        ? {}
        : {
            decision: aDecision({ verdict, reason, ...(approvedKey === undefined ? {} : { approvedKey }) }),
          }),
      ...(access === undefined ? {} : { access: anAccess({ state: access }) }),
      ...(liveness === undefined ? {} : { liveness: aLiveness({ state: liveness, cause }) }),
    };
  });

const conditionTypes = [
  'Accepted',
  'Joined',
  'Ready',
  'MemberHealthy',
  'CredentialsValid',
  'ClockSynced',
  'ClaimsComplete',
  'Deleting',
];

test('whatever the record says, all conditions are there and the status fits its schema', () => {
  fc.assert(
    fc.property(anything, (sections) => {
      const wanted = desiredCluster(aRecord(sections), facts, undefined);
      if (wanted.presence !== 'present') return;
      expect(wanted.status.conditions?.map(({ type }) => type)).toEqual(conditionTypes);
      expect(wanted.status.conditions?.every(({ reason }) => reason !== '')).toBe(true);
      expect(managedCluster.status.safeParse(wanted.status).error).toBeUndefined();
    }),
  );
});

test('the order in which events are read changes nothing, and showing twice changes nothing', () => {
  const shuffled = anything.chain((sections) => {
    const events = clusterEvents(sections);
    return fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length }));
  });
  fc.assert(
    fc.property(shuffled, ([events, reordered]) => {
      const inOrder = desiredCluster(recordOf(events), facts, undefined);
      const other = recordOf(reordered);
      expect(desiredCluster(other, facts, undefined)).toEqual(inOrder);
      if (inOrder.presence !== 'present') return;
      const metadata = { name: inOrder.name, generation: 1 };
      const current = { metadata, spec: inOrder.shape.spec, status: inOrder.status } as ManagedCluster;
      expect(desiredCluster(other, facts, current)).toEqual(inOrder);
    }),
  );
});

test('facts of a server that is behind change none that are shown, and keep nothing else from being shown', () => {
  const { name, shape, status } = present(aMember());
  const metadata = { name, generation: 1 };
  const current = { metadata, spec: shape.spec, status } as ManagedCluster;
  const older = { facts: { readyz: false, kubernetesVersion: 'v1.30.0' }, sequence: 6, epoch: 1 };
  const gone = aRecord(aMember({ liveness: aLiveness({ state: 'unreachable', cause: 'Unreachable' }) }));
  const now = desiredCluster(gone, older, current);
  if (now.presence !== 'present') throw new Error(now.presence);
  expect(now.status).toMatchObject({ kubernetesVersion: 'v1.36.4', readyz: true, liveness: 'unreachable' });
  expect(now.status).not.toHaveProperty('observedFacts');
});

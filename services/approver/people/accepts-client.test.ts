import { approved, type Decision, type EventDraft } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decideRevocation } from '../decision/events-after-decision.ts';
import { reviewProjection } from '../restore/restored-projection.ts';
import { decideRequest } from '../requests/decide-request.ts';
import { aDecision, anIdentity, aRequest, clusterId, heartbeat, History, nowMs } from '../tests/builders.ts';
import { type ClusterObject, decideClusterChange } from './cluster-change.ts';
import { decidePersonDecision } from './person-decision.ts';

const of = { epoch: 1, sequence: 100, digest: 'sha256:x' };
const object = (spec: object): ClusterObject =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: {
      name: 'alpha',
      uid: 'u1',
      resourceVersion: '1',
      labels: { env: 'test', 'rollcall.dev/cluster-set': 'prod' },
    },
    spec: { clusterId, clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete', ...spec },
    status: { observed: of },
  }) as ClusterObject;

/** As the approver does: what follows from a change first has its `revoked`. */
function say(history: History, spec: object): readonly EventDraft[] {
  const { record } = history;
  const changes = decideClusterChange({
    record,
    object: object(spec),
    heartbeat,
    nowMs: nowMs + history.events.length,
    leaveWaitMs: 1000,
  });
  history.apply(changes);
  history.apply(decideRevocation(history.record));
  return changes;
}

const admitted = { state: 'admitted', admittedKey: 'K1' } as const;
const theirs = aRequest({ id: 'R2', key: 'K2', labels: { env: 'theirs' }, clusterSet: 'theirs' });

/** The member's key is withdrawn, and then a stranger asks by its id. */
function withdrawnAndAsked(): History {
  const history = new History().identity(anIdentity(admitted));
  const section: Decision = aDecision({ clusterSet: 'prod' });
  history.apply([
    {
      definition: approved,
      aggregate: { kind: 'cluster', id: clusterId },
      head: undefined,
      reason: 'R',
      message: 'm',
      section,
    },
  ]);
  say(history, { hubAcceptsClient: false });
  history.identity(anIdentity({ ...admitted, request: theirs }));
  const outcome = { kind: 'evaluated', matches: [], failures: [] } as const;
  history.apply(decideRequest({ record: history.record, outcome, heartbeat, nowMs: nowMs + 10 }));
  return history;
}

function deny(history: History): void {
  const decision = {
    verdict: 'Deny',
    keyFingerprint: keyFingerprint('K2'),
    by: 'anna',
    reason: undefined,
    digest: 'd',
    shown: of,
  } as const;
  history.apply(decidePersonDecision({ record: history.record, decision, heartbeat, nowMs: nowMs + 20 }));
}

test.each([
  { verdict: 'held', reason: 'KeyChanged', next: () => undefined },
  { verdict: 'denied', reason: 'PersonDenied', next: deny },
])(
  'true gives back what false took also where a stranger has asked since, who stays $verdict',
  ({ verdict, reason, next }) => {
    const history = withdrawnAndAsked();
    next(history);
    expect(history.record.decision).toMatchObject({ verdict, key: 'K2', revokedKeys: [{ key: 'K1' }] });
    say(history, { hubAcceptsClient: true });
    expect(history.record.decision).toMatchObject({
      verdict,
      reason,
      key: 'K2',
      approvedKey: 'K1',
      clusterSet: 'prod',
      labels: { env: 'test' },
      revokedKeys: [],
    });
    expect(say(history, { hubAcceptsClient: true })).toEqual([]);
  },
);

test('a key that asks again after false is denied as before, and true lets it in', () => {
  const history = withdrawnAndAsked();
  history.identity(anIdentity({ ...admitted, request: aRequest({ id: 'R3', key: 'K1' }) }));
  const outcome = { kind: 'evaluated', matches: [], failures: [] } as const;
  history.apply(decideRequest({ record: history.record, outcome, heartbeat, nowMs: nowMs + 30 }));
  expect(history.record.decision).toMatchObject({ verdict: 'held', reason: 'KeyRevoked', key: 'K1' });
  say(history, { hubAcceptsClient: true });
  expect(history.record.decision).toMatchObject({
    verdict: 'approved',
    approvedKey: 'K1',
    clusterSet: 'prod',
  });
  expect(history.record.decision).not.toHaveProperty('withdrawnKey');
});

test('true ends no ban that came after false, and nothing that followed it', () => {
  const history = withdrawnAndAsked();
  const operation = (id: string, verb: string) => ({
    operation: { id, verb, keyFingerprint: keyFingerprint('K2'), by: 'anna' },
  });
  say(history, operation('w1', 'Ban'));
  expect(history.record.decision).toMatchObject({ verdict: 'banned' });
  expect(say(history, { hubAcceptsClient: true })).toEqual([]);
  say(history, operation('w2', 'Unban'));
  expect(say(history, { hubAcceptsClient: true })).toEqual([]);
});

test('true lets in no key that a person denied after false took it', () => {
  const history = withdrawnAndAsked();
  history.identity(anIdentity({ ...admitted, request: aRequest({ id: 'R3', key: 'K1' }) }));
  const decision = {
    verdict: 'Deny',
    keyFingerprint: keyFingerprint('K1'),
    by: 'anna',
    reason: undefined,
    digest: 'd',
    shown: of,
  } as const;
  history.apply(decidePersonDecision({ record: history.record, decision, heartbeat, nowMs: nowMs + 20 }));
  expect(history.record.decision).toMatchObject({ verdict: 'denied', reason: 'PersonDenied' });
  expect(say(history, { hubAcceptsClient: true })).toEqual([]);
});

const statusOf = (key: string, reason: string, status = 'False') => ({
  keyFingerprint: keyFingerprint(key),
  conditions: [{ type: 'Accepted', status, reason }],
});
const revocation = { id: 'w9', verb: 'Revoke', keyFingerprint: keyFingerprint('K1'), by: 'anna' };

/** The backup has the withdrawal, and Kubernetes what came after it. */
function restored(status: object, spec: object, sequence = 500): History {
  const history = withdrawnAndAsked();
  const { record } = history;
  const now = object({ hubAcceptsClient: true, ...spec });
  const cluster = { ...now, status: { ...status, observed: { epoch: 1, sequence } } } as ClusterObject;
  const review = reviewProjection({ record, cluster, request: undefined, heartbeat, nowMs: nowMs + 30 });
  history.apply(review ? [review.draft] : []);
  return history;
}

test.each([
  { name: 'replaced', status: statusOf('K2', 'PersonApproved', 'True'), spec: {} },
  { name: 'revoked', status: statusOf('K1', 'PersonRevoked'), spec: {} },
  {
    name: 'revoked by an operation',
    status: statusOf('K1', 'AccessWithdrawn'),
    spec: { operation: revocation },
  },
  { name: 'banned and unbanned', status: statusOf('K1', 'Unbanned'), spec: {} },
])('true of before a restore gives back no key that was $name after the backup', ({ status, spec }) => {
  const history = restored(status, spec);
  say(history, { hubAcceptsClient: true });
  expect(history.record.decision).toMatchObject({ revokedKeys: [{ key: 'K1' }] });
  expect(history.record.decision).not.toHaveProperty('approvedKey');
});

test.each([
  { name: 'given back after the backup', status: statusOf('K1', 'AccessRestored', 'True'), sequence: 500 },
  { name: 'not heard yet', status: statusOf('K1', 'AccessWithdrawn'), sequence: 2 },
])('true of before a restore counts as it stands: $name', ({ status, sequence }) => {
  const history = restored(status, {}, sequence);
  say(history, { hubAcceptsClient: true });
  expect(history.record.decision).toMatchObject({ approvedKey: 'K1' });
});

test('a registrar that calls the cluster otherwise while its key is out takes its name from nobody', () => {
  const history = withdrawnAndAsked();
  const request = aRequest({ id: 'R4', key: 'K4' });
  history.identity(anIdentity({ ...admitted, clusterName: 'of-a-registrar', request }));
  const outcome = { kind: 'evaluated', matches: [], failures: [] } as const;
  history.apply(decideRequest({ record: history.record, outcome, heartbeat, nowMs: nowMs + 30 }));
  expect(history.record.decision).toMatchObject({ key: 'K4', clusterName: 'alpha', namespace: 'alpha' });
  say(history, { hubAcceptsClient: true });
  expect(history.record.decision).toMatchObject({ approvedKey: 'K1', clusterName: 'alpha' });
});

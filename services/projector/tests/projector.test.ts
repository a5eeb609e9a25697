import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EventLog, type FactStore, openFactStore } from '@rollcall/shared/bus';
import {
  type Admission,
  admissionAggregate,
  admissionChanged,
  admitted,
  approved,
  changed,
  clusterRecord,
  cut,
  denied,
  deprovisioned,
  draft,
  type EventDefinition,
  type EventWriter,
  held,
  joined,
  leaving,
  left,
  policyDeclared,
  provisioned,
  ready,
  refused,
  requested,
  revoked,
  suspect,
  tokenDeclared,
  tokenUsed,
  unreachable,
} from '@rollcall/shared/events';
import {
  createResourceCache,
  type KubeClient,
  type KubeObject,
  type ResourceCache,
  resources,
} from '@rollcall/shared/kubernetes';
import {
  type ApprovalPolicy,
  type ClusterRegistrationRequest,
  type ClusterRegistrationToken,
  labels as ourLabels,
  type ManagedCluster,
  type ManagedClusterSet,
} from '@rollcall/shared/resources';
import { createMetrics, type RunningService } from '@rollcall/shared/service';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import {
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../../tests/harness/control-plane.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { aDecision, aLiveness, anAccess, anIdentity, member } from './cluster-record.builder.ts';
import { watchOurKinds } from '../apply/kube-view.ts';
import { configSchema, start } from '../main.ts';
import { createShowRequest } from '../apply/show-request.ts';
import { createShowStatus } from '../apply/trace-shown-status.ts';
import { createWriteBudget } from '../apply/write-budget.ts';
import { createObjectWriter } from '../apply/write-object.ts';

let hub: TestHub;
let plane: TestControlPlane;
let admin: KubeClient;
let facts: FactStore;
let projector: RunningService;
let clusters: ResourceCache<ManagedCluster>;
let requests: ResourceCache<ClusterRegistrationRequest>;
const logs = new Map<EventWriter, EventLog>();
const ending = new AbortController();
/** Every version of every object that a watch saw: one a write. */
const versions = new Map<string, string[]>();

const startProjector = (more: Record<string, string> = {}) =>
  start(
    configSchema.parse({
      ...hub.serviceSettings('projector'),
      kubeconfig: plane.kubeconfigFor(serviceUser('projector'), ['system:serviceaccounts']),
      ...more,
    }),
  );

async function restart(more: Record<string, string> = {}): Promise<void> {
  await projector.stop();
  projector = await startProjector(more);
}

const patient = { debounceMs: '10000', joinDebounceMs: '30000' };

/**
 * Counts writes with a projector that waits for the next event of a join however long the test takes to write it: each wait ends with
 * that event, and a busy machine would else see a request that is undecided for longer than usual, which is one write more.
 */
async function withPatience(count: () => Promise<void>): Promise<void> {
  await restart(patient);
  try {
    await count();
  } finally {
    await restart();
  }
}

/** Resolves once the condition holds; looks again at every change that the watches bring, and now and then. */
async function eventually<Value>(what: string, find: () => Value | undefined | false): Promise<Value> {
  const deadlineMs = Date.now() + 30_000;
  for (;;) {
    const found = find();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadlineMs) throw new Error(`never: ${what}`);
    await delay(20);
  }
}

beforeAll(async () => {
  [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane({ ownPlane: true })]);
  admin = plane.admin;
  facts = openFactStore(await hub.connectAs('registrar'));
  for (const writer of [
    'registrar',
    'approver',
    'rbac-provisioner',
    'heartbeat',
    'account-controller',
  ] as const) {
    logs.set(writer, await hub.openLog(writer));
  }
  const { signal } = ending;
  clusters = createResourceCache<ManagedCluster>(admin, resources.managedClusters, { signal });
  requests = createResourceCache<ClusterRegistrationRequest>(admin, resources.clusterRegistrationRequests, {
    signal,
  });
  for (const cache of [clusters, requests] as ResourceCache<ManagedCluster | ClusterRegistrationRequest>[]) {
    cache.onChange(({ kind, object }) => {
      const key = `${object.kind}/${object.metadata.name}`;
      if (kind !== 'deleted')
        versions.set(key, [...(versions.get(key) ?? []), object.metadata.resourceVersion]);
    });
  }
  projector = await startProjector();
  await eventually('the projector is ready', () => projector.notReady() === undefined);
});

afterAll(async () => {
  ending.abort();
  await projector?.stop();
  await Promise.all([hub?.[Symbol.asyncDispose](), plane?.[Symbol.asyncDispose]()]);
});

let count = 0;
/** A cluster of its own for each test, whose events other services write under their own identities. */
function aCluster() {
  const number = ++count;
  const id = `5b1c9a52-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const name = `blue-${number}`;
  const aggregate = { kind: 'cluster', id } as const;
  const happens = async (definition: EventDefinition, section: unknown, person?: string): Promise<void> => {
    const log = logs.get(definition.writer) as EventLog;
    const { head } = await log.read(aggregate);
    const what = {
      reason: 'Test',
      message: 'test',
      section,
      ...(person === undefined ? {} : { by: { person } }),
    };
    await log.append([draft(definition, { aggregate, head }, what)], {
      correlation: `test-${number}-correlation`,
    });
  };
  const nowMs = Date.now();
  const identity = anIdentity({ clusterId: id, clusterName: name });
  const admittedIdentity = { ...identity, ...member, admittedAtMs: nowMs };
  const decision = (more: Parameters<typeof aDecision>[0] = {}) =>
    aDecision({ clusterName: name, namespace: name, decidedAtMs: nowMs, ...more });
  const liveness = (more: Parameters<typeof aLiveness>[0] = {}) =>
    aLiveness({ joinedAtMs: nowMs + 1, sinceMs: nowMs + 1, lastHeartbeatAtMs: nowMs + 1, ...more });
  return {
    id,
    name,
    happens,
    identity,
    admittedIdentity,
    decision,
    liveness,
    access: anAccess({ namespace: name }),
    record: async () => clusterRecord(await (logs.get('registrar') as EventLog).read(aggregate)),
    cluster: () => clusters.get(name),
    request: () => requests.get(id),
    ready: () => {
      const condition = clusters.get(name)?.status?.conditions?.find(({ type }) => type === 'Ready');
      return condition && `${condition.status} ${condition.reason}`;
    },
    async join() {
      await happens(requested, identity);
      await happens(approved, decision());
      await happens(admitted, admittedIdentity);
      await happens(provisioned, anAccess({ namespace: name }));
      await happens(joined, liveness());
    },
    writes: () =>
      (versions.get(`ManagedCluster/${name}`)?.length ?? 0) +
      (versions.get(`ClusterRegistrationRequest/${id}`)?.length ?? 0),
  };
}

/** The only condition of an object that has one. */
function conditionOf(
  object:
    | { status?: { conditions?: { type: string; status: string; reason: string }[] | undefined } }
    | undefined,
): string | undefined {
  const [condition] = object?.status?.conditions ?? [];
  return condition && `${condition.type} ${condition.status} ${condition.reason}`;
}

const ignore = () => undefined;

async function joinedCluster() {
  const cluster = aCluster();
  await cluster.join();
  await eventually('the cluster is ready', () => cluster.ready() === 'True Alive');
  await eventually('the request is approved', () => cluster.request()?.status?.result === 'Approved');
  return cluster;
}

describe('joining', () => {
  test('a fast join costs four writes, and nothing is written while nothing changes [X-3]', () =>
    withPatience(async () => {
      const cluster = aCluster();
      await facts.put(cluster.id, { kubernetesVersion: 'v1.36.3', readyz: true }, 1);
      await cluster.join();
      await eventually('the cluster is ready', () => cluster.ready() === 'True Alive');
      await eventually('the request is approved', () => cluster.request()?.status?.result === 'Approved');
      expect(cluster.writes()).toBe(4);
      const { head } = await cluster.record();
      expect(cluster.cluster()).toMatchObject({
        metadata: {
          finalizers: ['rollcall.dev/leave'],
          labels: {
            'rollcall.dev/cluster-id': cluster.id,
            'rollcall.dev/created-by': 'projector',
            team: 'a',
          },
        },
        spec: { clusterId: cluster.id, clusterType: 'Standard', mode: 'Pull' },
        status: { lastSeen: 'live', kubernetesVersion: 'v1.36.3', namespace: cluster.name, observed: head },
      });
      expect(cluster.request()).toMatchObject({
        spec: { clusterName: cluster.name, token: 'rollcall-join/first' },
        status: {
          reason: 'PolicyApproved',
          policy: 'default',
          rule: 'valid-token',
          managedClusterName: cluster.name,
        },
      });
      // A restart compares everything; another cluster that is shown afterwards says that it is through.
      await restart(patient);
      const later = await joinedCluster();
      expect(later.writes()).toBe(4);
      expect(cluster.writes()).toBe(4);
    }));

  test('a held request is shown with a cluster that is not accepted, and approved later', async () => {
    const cluster = aCluster();
    await cluster.happens(requested, cluster.identity);
    await cluster.happens(held, cluster.decision({ verdict: 'held', reason: 'NoRuleMatched' }));
    const { status } = await eventually(
      'held',
      () => cluster.request()?.status?.result === 'Held' && cluster.request(),
    );
    expect(status).toMatchObject({
      reason: 'NoRuleMatched',
      message: expect.stringContaining('rollcall approve'),
    });
    await eventually('its cluster waits', () => cluster.ready() === 'Unknown Held');
    expect(cluster.cluster()?.status?.conditions?.[0]).toMatchObject({
      type: 'Accepted',
      status: 'False',
      reason: 'NoRuleMatched',
    });
    await cluster.happens(approved, cluster.decision({ by: { person: 'anna' } }));
    await eventually('approved', () => cluster.request()?.status?.result === 'Approved');
    expect(cluster.request()?.status?.by).toBe('anna');
    await eventually(
      'the cluster waits for its first heartbeat',
      () => cluster.ready() === 'Unknown NeverSeen',
    );
    expect(cluster.cluster()?.status?.conditions).toHaveLength(8);
  });

  test('a refused request says why', async () => {
    const cluster = aCluster();
    const refusal = { code: 'NAME_TAKEN', message: 'the name belongs to another cluster' };
    await cluster.happens(refused, { ...cluster.identity, state: 'refused', refusal });
    await eventually('failed', () => cluster.request()?.status?.result === 'Failed');
    expect(cluster.request()?.status).toMatchObject({ reason: 'NameTaken', errorMessage: refusal.message });
  });

  test('a denied request gets no cluster', async () => {
    const cluster = aCluster();
    await cluster.happens(requested, cluster.identity);
    await cluster.happens(denied, cluster.decision({ verdict: 'denied', reason: 'NotWanted' }));
    await eventually('denied', () => cluster.request()?.status?.result === 'Denied');
    expect(cluster.cluster()).toBeUndefined();
  });
});

describe('liveness', () => {
  test('suspect, unreachable and back', () =>
    withPatience(async () => {
      const cluster = await joinedCluster();
      await cluster.happens(suspect, cluster.liveness({ state: 'suspect', cause: 'ConnectionLost' }));
      await eventually('suspect', () => cluster.ready() === 'Unknown ConnectionLost');
      expect(cluster.cluster()?.status?.lastSeen).toMatch(/^\d{4}-.*Z$/);
      await cluster.happens(unreachable, cluster.liveness({ state: 'unreachable', cause: 'Unreachable' }));
      await eventually('unreachable', () => cluster.ready() === 'False Unreachable');
      await cluster.happens(ready, cluster.liveness());
      await eventually('ready', () => cluster.ready() === 'True Alive');
      expect(cluster.writes()).toBe(7);
    }));

  test('facts that change are shown without any event', async () => {
    const cluster = await joinedCluster();
    await facts.put(
      cluster.id,
      { kubernetesVersion: 'v1.37.0', readyz: false, nodes: { total: 3, ready: 2, schedulable: 3 } },
      1,
    );
    await eventually('the new version', () => cluster.cluster()?.status?.kubernetesVersion === 'v1.37.0');
    expect(cluster.cluster()?.status?.conditions?.find(({ type }) => type === 'MemberHealthy')).toMatchObject(
      {
        status: 'False',
        reason: 'ProbeFailed',
      },
    );
  });
});

describe('what nodes share', () => {
  const nodes = { total: 5, ready: 5, schedulable: 5 };
  const shownLabels = (cluster: ReturnType<typeof aCluster>) => cluster.cluster()?.metadata.labels ?? {};

  test('costs a join no write, follows the nodes, and leaves labels of people alone [CN-7]', () =>
    withPatience(async () => {
      const cluster = aCluster();
      await facts.put(cluster.id, { nodes, nodeLabels: { pool: 'gpu', zone: 'a' } }, 1);
      await cluster.join();
      await eventually('the cluster is ready', () => cluster.ready() === 'True Alive');
      await eventually('the request is approved', () => cluster.request()?.status?.result === 'Approved');
      expect(shownLabels(cluster)).toMatchObject({
        'node.rollcall.dev/pool': 'gpu',
        'node.rollcall.dev/zone': 'a',
        team: 'a',
      });
      expect(cluster.writes()).toBe(4);
      await admin.mergePatch(resources.managedClusters, cluster.name, {
        metadata: { labels: { mine: 'x' } },
      });
      await facts.put(cluster.id, { nodes, nodeLabels: { pool: 'cpu' } }, 1);
      await eventually('the label follows', () => shownLabels(cluster)['node.rollcall.dev/pool'] === 'cpu');
      expect(shownLabels(cluster)).toMatchObject({ mine: 'x', team: 'a' });
      expect(shownLabels(cluster)).not.toHaveProperty(['node.rollcall.dev/zone']);
      // One by the person, one by the projector.
      expect(cluster.writes()).toBe(4 + 2);
    }));

  test('an agent that says nothing of nodes leaves what is there; one that shares nothing takes it away [CN-7]', async () => {
    const cluster = aCluster();
    await facts.put(cluster.id, { nodes, nodeLabels: { pool: 'gpu' } }, 1);
    await cluster.join();
    await eventually('the cluster is ready', () => cluster.ready() === 'True Alive');
    await facts.put(cluster.id, { agentVersion: 'no-nodes' }, 1);
    await eventually('the facts are shown', () => cluster.cluster()?.status?.agentVersion === 'no-nodes');
    expect(shownLabels(cluster)['node.rollcall.dev/pool']).toBe('gpu');
    await facts.put(cluster.id, { nodes }, 1);
    await eventually('the label is gone', () => !('node.rollcall.dev/pool' in shownLabels(cluster)));
  });
});

test('claims are shown, and that some are left out has a condition [OC-7]', async () => {
  const cluster = aCluster();
  const claims = [{ name: 'id.k8s.io', value: 'blue' }];
  const condition = () =>
    cluster.cluster()?.status?.conditions?.find(({ type }) => type === 'ClaimsComplete');
  await facts.put(cluster.id, { claims }, 1);
  await cluster.join();
  await eventually('the cluster is ready', () => cluster.ready() === 'True Alive');
  expect(cluster.cluster()?.status?.clusterClaims).toEqual(claims);
  expect(condition()).toMatchObject({ status: 'True', reason: 'AllShown' });
  await facts.put(cluster.id, { claims, claimsLeftOut: 7 }, 1);
  await eventually('it says so', () => condition()?.status === 'False');
  expect(condition()).toMatchObject({
    reason: 'ClaimsLeftOut',
    message: expect.stringContaining('left out: 7;'),
  });
});

describe('the projection is no truth', () => {
  test('what vanishes is made again, with what people had set', async () => {
    const cluster = await joinedCluster();
    const key = { requestId: cluster.identity.request.id, key: cluster.identity.request.key };
    const set = { namespacePolicy: 'Keep', unschedulable: true } as const;
    await cluster.happens(
      changed,
      cluster.decision({ verdict: 'approved', ...key, approvedKey: key.key, ...set }),
    );
    const before = [cluster.cluster()?.metadata.uid, cluster.request()?.metadata.uid];
    await admin.mergePatch(resources.managedClusters, cluster.name, { metadata: { finalizers: null } });
    // The finalizer comes back by itself, so the object may need more than one push to go.
    await admin.delete(resources.managedClusters, cluster.name);
    await admin
      .mergePatch(resources.managedClusters, cluster.name, { metadata: { finalizers: null } })
      .catch(() => undefined);
    await admin.delete(resources.clusterRegistrationRequests, cluster.id);
    const now = () => [cluster.cluster()?.metadata.uid, cluster.request()?.metadata.uid];
    await eventually('other objects', () =>
      now().every((uid, index) => uid !== undefined && uid !== before[index]),
    );
    await eventually('it is ready', () => cluster.ready() === 'True Alive');
    expect(cluster.cluster()?.spec).toMatchObject(set);
    expect(cluster.cluster()?.metadata).toMatchObject({
      finalizers: ['rollcall.dev/leave'],
      labels: { team: 'a' },
    });
  });

  test("a person's label is left alone until the approver has read it", async () => {
    const cluster = await joinedCluster();
    await admin.mergePatch(resources.managedClusters, cluster.name, {
      metadata: { labels: { team: 'b', extra: 'x' } },
    });
    await cluster.happens(suspect, cluster.liveness({ state: 'suspect', cause: 'NoHeartbeats' }));
    await eventually('suspect', () => cluster.ready() === 'Unknown NoHeartbeats');
    expect(cluster.cluster()?.metadata.labels).toMatchObject({ team: 'b', extra: 'x' });
  });

  test('what a person says again before the first of it is shown stays, and what a policy gives is written', async () => {
    const cluster = await joinedCluster();
    const key = { requestId: cluster.identity.request.id, key: cluster.identity.request.key };
    const decision = (labels: Record<string, string>) =>
      cluster.decision({ ...key, approvedKey: key.key, labels });
    const labels = { team: 'c', [ourLabels.clusterSet]: 'x' };
    await admin.mergePatch(resources.managedClusters, cluster.name, { metadata: { labels } });
    const isShown = async () => {
      const sequence = (await cluster.record()).lastOf.approver?.sequence ?? 0;
      await eventually('the decision is shown', () => {
        const shown = cluster.cluster()?.status?.observed?.sequence ?? 0;
        return shown >= sequence;
      });
    };
    await cluster.happens(changed, decision({ team: 'b' }), 'anna');
    await isShown();
    expect(cluster.cluster()?.metadata.labels).toMatchObject(labels);
    await cluster.happens(approved, decision({ team: 'b', given: 'yes' }));
    await isShown();
    expect(cluster.cluster()?.metadata.labels).toMatchObject({ ...labels, given: 'yes' });
  });

  test('a projection that is newer than the stream stays', async () => {
    const cluster = await joinedCluster();
    const client = plane.clientFor(serviceUser('projector'), ['system:serviceaccounts']);
    const newer = { observed: { epoch: 9, sequence: 1, digest: 'sha256:x' }, liveness: 'newer' };
    await client.mergePatch(
      resources.managedClusters,
      cluster.name,
      { status: newer },
      { subresource: 'status' },
    );
    await cluster.happens(suspect, cluster.liveness({ state: 'suspect', cause: 'NoHeartbeats' }));
    const other = await joinedCluster();
    expect(other.ready()).toBe('True Alive');
    expect(cluster.cluster()?.status?.liveness).toBe('newer');
  });
});

test('the API server refuses an older projection, and that is no failure', async () => {
  const cluster = await joinedCluster();
  const client = plane.clientFor(serviceUser('projector'), ['system:serviceaccounts']);
  const watching = new AbortController();
  const view = watchOurKinds(client, { signal: watching.signal, onSynced: ignore, onError: ignore });
  await view.whenSynced;
  const metrics = createMetrics('projector');
  const writer = createObjectWriter(client, { budget: createWriteBudget(100), metrics });
  const object = view.clusters.get(cluster.name);
  const older = { liveness: 'older', observed: { epoch: 1, sequence: 1, digest: 'sha256:x' } };
  expect(
    object && (await writer.patchStatus(view.clusters, object, { patch: older, priority: 'transition' })),
  ).toBe(false);
  expect(metrics.value('rollcall_projector_older_refused_total')).toBe(1);
  expect(view.clusters.get(cluster.name)?.status?.liveness).toBe('ready');
  watching.abort();
  await view.whenEnded;
});

test('what a person wrote since the object was read is not taken for written after what is shown next', async () => {
  const cluster = await joinedCluster();
  await projector.stop();
  const client = plane.clientFor(serviceUser('projector'), ['system:serviceaccounts']);
  const watching = new AbortController();
  const view = watchOurKinds(client, { signal: watching.signal, onSynced: ignore, onError: ignore });
  await view.whenSynced;
  const tools = { budget: createWriteBudget(100), metrics: createMetrics('projector') };
  const writer = createObjectWriter(client, tools);
  const read = view.clusters.get(cluster.name);
  await admin.mergePatch(resources.managedClusters, cluster.name, { spec: { hubAcceptsClient: true } });
  const how = { patch: { liveness: 'suspect' }, priority: 'transition', isOfVersion: true } as const;
  expect(read && (await writer.patchStatus(view.clusters, read, how))).toBe(false);
  const now = view.clusters.get(cluster.name);
  expect([now?.spec.hubAcceptsClient, now?.status?.liveness]).toEqual([true, 'ready']);
  expect(now && (await writer.patchStatus(view.clusters, now, how))).toBe(true);
  watching.abort();
  await view.whenEnded;
  projector = await startProjector();
});

test('a request that was there already, from a write whose answer was lost, is brought up to date at once', async () => {
  const cluster = await joinedCluster();
  await projector.stop();
  const client = plane.clientFor(serviceUser('projector'), ['system:serviceaccounts']);
  // No watch has told of it.
  const view = watchOurKinds(client, { signal: AbortSignal.abort(), onSynced: ignore, onError: ignore });
  const metrics = createMetrics('projector');
  const writer = createObjectWriter(client, { budget: createWriteBudget(100), metrics });
  const { keyFingerprint } = cluster.identity.request;
  const ofAnotherKey = { spec: { keyFingerprint: '0000-0000-0000-0000' } };
  const { clusterRegistrationRequests } = resources;
  await client.mergePatch<ClusterRegistrationRequest>(clusterRegistrationRequests, cluster.id, ofAnotherKey);
  const showStatus = createShowStatus({ nowMs: Date.now, metrics, logger: pino({ level: 'silent' }) });
  const unknownAuthors = { of: async () => undefined };
  const show = createShowRequest({ view, writer, unknownAuthors }, showStatus);
  const { isShown } = await show(await cluster.record());
  expect(isShown).toBe(true);
  const shown = await client.get<ClusterRegistrationRequest>(clusterRegistrationRequests, {
    name: cluster.id,
  });
  expect(shown?.spec.keyFingerprint).toBe(keyFingerprint);
  client.close();
  projector = await startProjector();
});

describe('leaving', () => {
  test('the object stays until the cluster has left, and says what remains', async () => {
    const cluster = await joinedCluster();
    await admin.delete(resources.managedClusters, cluster.name);
    const deletingMessage = () =>
      cluster.cluster()?.status?.conditions?.find(({ type }) => type === 'Deleting');
    await eventually('the operation is shown', () => deletingMessage()?.reason === 'WaitingForDecision');
    const { approvedKey: _, ...section } = cluster.decision({
      verdict: 'leaving',
      reason: 'Leaving',
      revokedKeys: [{ key: 'KEY1', atMs: Date.now() }],
    });
    await cluster.happens(leaving, section);
    await eventually('leaving', () => deletingMessage()?.reason === 'AccessRemoval');
    expect(cluster.ready()).toBe('False Revoked');
    await cluster.happens(revoked, section);
    await cluster.happens(cut, { key: 'KEY1', atMs: Date.now() });
    await eventually('only the access remains', () =>
      deletingMessage()?.message.startsWith('remaining: its access'),
    );
    await cluster.happens(deprovisioned, { ...cluster.access, state: 'deprovisioned', verdict: 'leaving' });
    await cluster.happens(left, { ...cluster.identity, state: 'left' });
    await eventually(
      'both objects are gone',
      () => cluster.cluster() === undefined && cluster.request() === undefined,
    );
  });

  test('a cluster whose agent leaves is taken away although nobody deleted it', async () => {
    const cluster = await joinedCluster();
    expect(cluster.cluster()?.metadata.deletionTimestamp).toBeUndefined();
    const { approvedKey: _, ...section } = cluster.decision({ verdict: 'leaving' });
    await cluster.happens(leaving, section);
    await cluster.happens(deprovisioned, { ...cluster.access, state: 'deprovisioned', verdict: 'leaving' });
    await cluster.happens(left, { ...cluster.identity, state: 'left' });
    await eventually(
      'both objects are gone',
      () => cluster.cluster() === undefined && cluster.request() === undefined,
    );
  });
});

test('tokens, policies and sets show their status', async () => {
  const { signal } = ending;
  const tokens = createResourceCache<ClusterRegistrationToken>(admin, resources.clusterRegistrationTokens, {
    signal,
  });
  const policies = createResourceCache<ApprovalPolicy>(admin, resources.approvalPolicies, { signal });
  const sets = createResourceCache<ManagedClusterSet>(admin, resources.managedClusterSets, { signal });
  const version = { apiVersion: 'rollcall.dev/v1alpha1' };
  const publicKey = createNkey('user').publicKey;
  const token = await admin.create(resources.clusterRegistrationTokens, {
    ...version,
    kind: 'ClusterRegistrationToken',
    metadata: { name: 'one', namespace: 'rollcall-join' },
    spec: { publicKey },
  });
  const policy = await admin.create(resources.approvalPolicies, {
    ...version,
    kind: 'ApprovalPolicy',
    metadata: { name: 'all' },
    spec: { rules: [{ name: 'valid', when: 'token.valid', effect: 'Approve' }] },
  });
  await admin.create(resources.managedClusterSets, {
    ...version,
    kind: 'ManagedClusterSet',
    metadata: { name: 'prod' },
    spec: { selector: { type: 'ExclusiveLabel' } },
  });

  const aggregate = { kind: 'token', id: tokenIdOf(publicKey) } as const;
  const approver = logs.get('approver') as EventLog;
  const registrar = logs.get('registrar') as EventLog;
  const trace = { correlation: 'test-declared' };
  const text = { reason: 'Test', message: 'test' };
  const { uid } = token.metadata;
  const expiresAtMs = Date.UTC(2100, 0, 1);
  const nowMs = Date.now();
  const declaration = {
    publicKey,
    namespace: 'rollcall-join',
    name: 'one',
    uid,
    declaredAtMs: nowMs,
    expiresAtMs,
    uses: 1,
  };
  const section = { ...declaration, labels: {}, allowLabels: [], withdrawn: false };
  await approver.append([draft(tokenDeclared, { aggregate, head: undefined }, { ...text, section })], trace);
  const tokenStatus = () => tokens.get('rollcall-join/one')?.status;
  await eventually('usable', () => conditionOf(tokens.get('rollcall-join/one')) === 'Ready True Usable');
  expect(tokenStatus()).toMatchObject({ used: 0, expires: '2100-01-01T00:00:00Z' });
  await admin.create(resources.clusterRegistrationTokens, {
    ...version,
    kind: 'ClusterRegistrationToken',
    metadata: { name: 'copy', namespace: 'rollcall-join' },
    spec: { publicKey },
  });
  await eventually(
    'the copy',
    () => conditionOf(tokens.get('rollcall-join/copy')) === 'Ready False KeyTaken',
  );
  expect(tokens.get('rollcall-join/copy')?.status?.conditions?.[0]?.message).toContain(
    '"rollcall-join/one" is older',
  );
  expect(conditionOf(tokens.get('rollcall-join/one'))).toBe('Ready True Usable');
  const { head } = await registrar.read(aggregate);
  const uses = { used: 1, lastUsedBy: 'somebody', lastUsedAtMs: nowMs };
  await registrar.append([draft(tokenUsed, { aggregate, head }, { ...text, section: uses })], trace);
  await eventually('used up', () => conditionOf(tokens.get('rollcall-join/one')) === 'Ready False UsedUp');
  expect(tokenStatus()).toMatchObject({ used: 1, lastUsedBy: 'somebody' });

  const about = { aggregate: { kind: 'policy', id: 'all' }, head: undefined } as const;
  const rules = [{ name: 'valid', when: 'token.valid', effect: 'Approve' as const }];
  const declared = { name: 'all', uid: policy.metadata.uid, generation: 1, rules, withdrawn: false };
  await approver.append([draft(policyDeclared, about, { ...text, section: declared })], trace);
  await eventually('in force', () => conditionOf(policies.get('all')) === 'Ready True InForce');
  expect(policies.get('all')?.status).toMatchObject({ rules: 1, observedGeneration: 1 });

  await eventually('an empty set', () => conditionOf(sets.get('prod')) === 'Empty True NoClusters');
  const cluster = aCluster();
  await cluster.happens(requested, cluster.identity);
  await cluster.happens(approved, cluster.decision({ clusterSet: 'prod' }));
  await eventually('it is counted', () => sets.get('prod')?.status?.clusters === 1);
  expect(conditionOf(sets.get('prod'))).toBe('Empty False HasClusters');
});

test('a set that a label names and that is not there is said on the cluster, until it is there [OC-6]', async () => {
  const cluster = await joinedCluster();
  const unheard = () => clusters.get(cluster.name)?.status?.conditions?.find(({ type }) => type === 'Heard');
  const patch = (set: string) => ({ metadata: { labels: { 'rollcall.dev/cluster-set': set } } });
  await admin.mergePatch<KubeObject>(resources.managedClusters, cluster.name, patch('later'));
  const said = await eventually('the cluster says so', unheard);
  expect(said).toMatchObject({
    status: 'False',
    reason: 'SetUnknown',
    message: expect.stringContaining('there is no set "later"'),
  });
  const later = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name: 'later' },
    spec: { selector: { type: 'ExclusiveLabel' } },
  };
  await admin.create<KubeObject>(resources.managedClusterSets, later);
  await eventually('it says so no more', () => unheard() === undefined);
  await admin.mergePatch<KubeObject>(resources.managedClusters, cluster.name, patch('global'));
  await eventually('a view says so too', () =>
    unheard()?.message.includes('selects clusters by their labels'),
  );
});

test('what does not count because nobody knows who wrote it is shown as such, until it is written again', async () => {
  const cluster = await joinedCluster();
  const waiting = aCluster();
  await waiting.happens(requested, waiting.identity);
  const log = logs.get('approver') as EventLog;
  const say = async (unproven: Admission['unproven']) => {
    const { head } = await log.read(admissionAggregate);
    const section = { inPlace: true, version: 'v', kindUid: 'k', unproven };
    const what = { reason: 'AuthorUnknown', message: 'test', section };
    await log.append([draft(admissionChanged, { aggregate: admissionAggregate, head }, what)], {
      correlation: 'test-admission',
    });
  };
  const set = await admin.create<KubeObject>(resources.managedClusterSets, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name: 'unheard' },
    spec: { selector: { type: 'ExclusiveLabel' } },
  });
  await admin.create<KubeObject>(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'unheard' },
    spec: { clientId: 'unheard' },
  });
  await eventually('the request is shown', () => requests.get(waiting.id));
  await say([
    { object: `clusterregistrationrequests/${waiting.id}`, word: 'decision:sha256:1' },
    { object: `managedclusters/${cluster.name}`, word: 'access:Namespace' },
    { object: `managedclusters/${cluster.name}`, word: 'operation:u/1' },
    { object: 'managedclusters/unheard', word: 'cluster-set:' },
    { object: 'managedclustersets/unheard', word: `version:${set.metadata.uid}@1` },
  ]);
  const messageOf = (status: ManagedCluster['status'], type: string) =>
    status?.conditions?.find((each) => each.type === type && each.reason === 'AuthorUnknown')?.message;
  const ofRequest = () => requests.get(waiting.id)?.status?.message ?? '';
  const ofCluster = () => messageOf(clusters.get(cluster.name)?.status, 'Heard');
  const ofSet = async () =>
    messageOf(
      (await admin.get<ManagedCluster>(resources.managedClusterSets, { name: 'unheard' }))?.status,
      'Heard',
    );
  await eventually('the request says so', () => ofRequest().includes('spec.decision was written while'));
  expect(ofRequest()).toContain(`rollcall approve ${waiting.id} --reason`);
  expect(requests.get(waiting.id)?.status?.result).toBe('Pending');
  const said = await eventually('the cluster says so', ofCluster);
  expect(said).toContain('spec.operation, spec.access was written while');
  expect(said).toContain(`kubectl edit managedclusters.rollcall.dev ${cluster.name}`);
  await eventually('what a person made beforehand says so', () =>
    messageOf(clusters.get('unheard')?.status, 'Accepted'),
  );
  await expect
    .poll(ofSet)
    .toContain('kubectl get managedclustersets.rollcall.dev unheard -o yaml | kubectl replace');

  await say([]);
  await eventually('the request says so no more', () => !ofRequest().includes('was written while'));
  await eventually('the cluster says so no more', () => ofCluster() === undefined);
  await expect.poll(ofSet).toBeUndefined();
  await admin.delete(resources.managedClusters, 'unheard');
  await admin.delete(resources.managedClusterSets, 'unheard');
});

test('two replicas: one join still shows, and both end up equal', async () => {
  await using second = Object.assign(await startProjector(), {
    async [Symbol.asyncDispose]() {
      await second.stop();
    },
  });
  await eventually('the second is ready', () => second.notReady() === undefined);
  const some = [aCluster(), aCluster(), aCluster(), aCluster()];
  await Promise.all(some.map((cluster) => cluster.join()));
  for (const cluster of some) {
    await eventually('the cluster is ready', () => cluster.ready() === 'True Alive');
    await eventually('the request is approved', () => cluster.request()?.status?.result === 'Approved');
    const { head } = await cluster.record();
    expect(cluster.cluster()?.status?.observed).toEqual(head);
  }
});

test('a cluster that left and came back before its object was gone has a new one', async () => {
  const cluster = await joinedCluster();
  await projector.stop();
  await admin.delete(resources.managedClusters, cluster.name);
  const { uid } =
    (await admin.get<ManagedCluster>(resources.managedClusters, { name: cluster.name }))?.metadata ?? {};
  const gone = { verdict: 'leaving', approvedKey: undefined, leavingUid: uid } as const;
  await cluster.happens(leaving, cluster.decision(gone), 'anna');
  await cluster.happens(deprovisioned, { ...cluster.access, state: 'deprovisioned' });
  await cluster.happens(left, { ...cluster.identity, state: 'left' });
  const request = { ...cluster.identity.request, id: 'request-2' };
  await cluster.happens(requested, { ...cluster.identity, request });
  await cluster.happens(approved, cluster.decision({ requestId: request.id, leavingUid: uid }));
  await cluster.happens(admitted, { ...cluster.admittedIdentity, request });
  await cluster.happens(provisioned, { ...cluster.access, requestId: request.id });
  projector = await startProjector();
  const { metadata } = await eventually('it is another object', () => {
    const shown = cluster.cluster();
    return shown?.metadata.uid !== uid && shown?.status?.observed && shown;
  });
  expect(metadata.deletionTimestamp).toBeUndefined();
  expect(metadata.labels).toMatchObject({ team: 'a' });
});

test('an API server that was away is caught up with', async () => {
  const cluster = await joinedCluster();
  await plane.plane.kill('kube-apiserver');
  const other = aCluster();
  await other.join();
  await cluster.happens(suspect, cluster.liveness({ state: 'suspect', cause: 'NoHeartbeats' }));
  await plane.plane.restart('kube-apiserver');
  await eventually('the new cluster is ready', () => other.ready() === 'True Alive');
  await eventually('the old one is suspect', () => cluster.ready() === 'Unknown NoHeartbeats');
  expect(other.cluster()?.status?.lastSeen).toBe('live');
});

test('the sets that every hub has are made again after their kind was deleted and applied anew', async () => {
  const kind = 'managedclustersets.rollcall.dev';
  const own = () =>
    admin.list<ManagedClusterSet>(resources.managedClusterSets).then(
      (sets) => sets.map(({ metadata }) => metadata.name).filter((name) => !['prod', 'later'].includes(name)),
      () => [],
    );
  await expect.poll(own, { timeout: 30_000 }).toEqual(['default', 'global']);
  const definition = await admin.get<KubeObject>(resources.customResourceDefinitions, { name: kind });
  await admin.delete(resources.customResourceDefinitions, kind);
  await expect
    .poll(() => admin.get(resources.customResourceDefinitions, { name: kind }), { timeout: 30_000 })
    .toBeUndefined();
  const { apiVersion = '', kind: kindOfKind = '', spec } = definition ?? {};
  await admin.create(resources.customResourceDefinitions, {
    apiVersion,
    kind: kindOfKind,
    metadata: { name: kind },
    spec,
  });
  await expect.poll(own, { timeout: 30_000 }).toEqual(['default', 'global']);
});

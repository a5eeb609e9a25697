import { readFileSync } from 'node:fs';
import {
  admitted,
  approved,
  denied,
  draft,
  type EventDefinition,
  joined,
  leaving,
  left,
  requested,
} from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ClusterProfile, ManagedCluster, ManagedClusterSetBinding } from '@rollcall/shared/resources';
import type { ServiceName } from '@rollcall/shared/rights';
import type { RunningService } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../../tests/harness/control-plane.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';
import { aDecision, aLiveness, anIdentity, member } from './cluster-record.builder.ts';

const profiles = resources.clusterProfiles;
const bindings = resources.managedClusterSetBindings;
const within = { timeout: 30_000 };
let hub: TestHub;
let plane: TestControlPlane;
let admin: KubeClient;
let projector: RunningService;

const startProjector = (more: Record<string, string> = {}) =>
  start(
    configSchema.parse({
      ...hub.serviceSettings('projector'),
      kubeconfig: plane.kubeconfigFor(serviceUser('projector'), ['system:serviceaccounts']),
      ...more,
    }),
  );

beforeAll(async () => {
  [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane({ auditPolicy: 'metadata' })]);
  ({ admin } = plane);
  for (const name of ['team-a', 'team-b', 'team-c', 'team-d'])
    await admin.create(resources.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  projector = await startProjector();
});
afterAll(async () => {
  await projector?.stop();
  await Promise.all([hub?.[Symbol.asyncDispose](), plane?.[Symbol.asyncDispose]()]);
});

async function happens(name: string, definition: EventDefinition, section: unknown): Promise<void> {
  const aggregate = { kind: 'cluster', id: `id-of-${name}` } as const;
  const log = await hub.openLog(definition.writer as ServiceName);
  const { head } = await log.read(aggregate);
  const what = { reason: 'Test', message: 'test', section };
  await log.append([draft(definition, { aggregate, head }, what)], { correlation: 'test' });
}
const decision = (name: string, more: object = {}) =>
  aDecision({ clusterName: name, namespace: name, ...more });
const identity = (name: string) => anIdentity({ clusterId: `id-of-${name}`, clusterName: name });

async function joins(name: string, clusterSet?: string): Promise<void> {
  await happens(name, requested, identity(name));
  await happens(name, approved, decision(name, clusterSet === undefined ? {} : { clusterSet }));
  await happens(name, admitted, { ...identity(name), ...member });
  await happens(name, joined, aLiveness());
  await expect.poll(() => isShownJoined(name), within).toBe(true);
}
async function isShownJoined(name: string): Promise<boolean> {
  const cluster = await admin.get<ManagedCluster>(resources.managedClusters, { name });
  const { conditions = [] } = cluster?.status ?? {};
  return conditions.some(({ type, status }) => type === 'Joined' && status === 'True');
}

const profile = (name: string, namespace: string) => admin.get<ClusterProfile>(profiles, { name, namespace });
const namesIn = async (namespace: string) =>
  (await admin.list(profiles, { namespace })).map(({ metadata }) => metadata.name).toSorted();
const joinedOf = async (name: string, namespace: string) => {
  const { conditions = [] } = (await profile(name, namespace))?.status ?? {};
  return conditions.find(({ type }) => type === 'Joined')?.status;
};
const bind = (clusterSet: string, namespace: string) =>
  admin.create(bindings, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: bindings.kind,
    metadata: { name: clusterSet, namespace },
    spec: { clusterSet },
  });
const unbind = (name: string, namespace: string) => admin.delete(bindings, name, { namespace });
const bound = async (name: string, namespace: string) => {
  const binding = await admin.get<ManagedClusterSetBinding>(bindings, { name, namespace });
  const [condition] = binding?.status?.conditions ?? [];
  return condition && `${condition.type} ${condition.status} ${condition.reason}`;
};
const makeSet = (name: string) =>
  admin.create(resources.managedClusterSets, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name },
    spec: {},
  });
const aProfile = (name: string, namespace: string, manager: string): KubeObject => ({
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'ClusterProfile',
  metadata: { name, namespace, labels: { 'x-k8s.io/cluster-manager': manager } },
  spec: { clusterManager: { name: manager } },
});

interface AuditLine {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly namespace?: string };
}
/** What the projector has asked to write, whether it changed anything or not. */
function writesIn(namespace: string): number {
  const lines = readFileSync(plane.plane.auditLogPath ?? '', 'utf8').split('\n');
  const asked = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as AuditLine);
  return asked.filter(
    ({ verb, user, objectRef }) =>
      user.username === serviceUser('projector') &&
      objectRef?.resource === profiles.plural &&
      objectRef.namespace === namespace &&
      ['create', 'update', 'patch', 'delete'].includes(verb),
  ).length;
}

test('the members of a bound set are ClusterProfiles in the namespace; those of other managers stay [X-9] [OC-6]', async () => {
  await joins('blue');
  await joins('green');
  const theirs = await admin.create(profiles, aProfile('blue', 'team-b', 'somebody'));
  await bind('global', 'team-a');
  await bind('global', 'team-b');
  await expect.poll(() => namesIn('team-a'), within).toEqual(['blue', 'green']);
  await expect.poll(() => joinedOf('blue', 'team-a'), within).toBe('True');
  expect(await profile('blue', 'team-a')).toMatchObject({
    metadata: {
      labels: {
        'x-k8s.io/cluster-manager': 'rollcall',
        'multicluster.x-k8s.io/clusterset': 'default',
        'rollcall.dev/cluster-id': 'id-of-blue',
        team: 'a',
      },
    },
    spec: { displayName: 'blue', clusterManager: { name: 'rollcall' } },
    status: {
      conditions: [{ type: 'ControlPlaneHealthy' }, { type: 'Joined', status: 'True' }],
      version: { kubernetes: 'v1.36.3' },
      properties: [
        { name: 'cluster.clusterset.k8s.io', value: 'blue' },
        { name: 'clusterset.k8s.io', value: 'default' },
      ],
    },
  });
  await expect.poll(() => bound('global', 'team-a'), within).toBe('Bound True Bound');
  await expect.poll(() => joinedOf('green', 'team-b'), within).toBe('True');
  expect((await profile('blue', 'team-b'))?.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
  await unbind('global', 'team-b');
  await expect.poll(() => namesIn('team-b'), within).toEqual(['blue']);
  expect((await profile('blue', 'team-b'))?.metadata.uid).toBe(theirs.metadata.uid);
});

test('two writes make a profile, and none follow while nothing changes, also after a restart', async () => {
  await expect.poll(() => writesIn('team-a'), within).toBe(4);
  await projector.stop();
  projector = await startProjector();
  // It makes the projector compare all profiles of all namespaces.
  await bind('global', 'team-c');
  await expect.poll(() => joinedOf('green', 'team-c'), within).toBe('True');
  await expect.poll(() => joinedOf('blue', 'team-c'), within).toBe('True');
  expect(writesIn('team-a')).toBe(4);
  await unbind('global', 'team-c');
  await expect.poll(() => namesIn('team-c'), within).toEqual([]);
});

test('what somebody changes or removes is put right; what was taken from us is others’', async () => {
  const where = { namespace: 'team-a' };
  const changed = { metadata: { labels: { team: 'x', more: 'y' } }, spec: { displayName: 'red' } };
  await admin.mergePatch(profiles, 'blue', changed, where);
  await expect.poll(async () => (await profile('blue', 'team-a'))?.spec.displayName, within).toBe('blue');
  expect((await profile('blue', 'team-a'))?.metadata.labels).toMatchObject({ team: 'a' });
  expect((await profile('blue', 'team-a'))?.metadata.labels).not.toHaveProperty('more');
  await admin.delete(profiles, 'blue', where);
  await expect.poll(() => joinedOf('blue', 'team-a'), within).toBe('True');
  await admin.mergePatch(
    profiles,
    'blue',
    { metadata: { labels: { 'x-k8s.io/cluster-manager': null } } },
    where,
  );
  await unbind('global', 'team-a');
  await expect.poll(() => namesIn('team-a'), within).toEqual(['blue']);
  await admin.delete(profiles, 'blue', where);
});

test('a finalizer of the tool that reads a profile stays, and the profile goes once the tool has taken it off', async () => {
  const finalizers = ['example.org/of-the-tool'];
  const where = { namespace: 'team-c' };
  await bind('global', where.namespace);
  await expect.poll(() => joinedOf('green', where.namespace), within).toBe('True');
  await admin.mergePatch(profiles, 'green', { metadata: { finalizers } }, where);
  await admin.mergePatch(profiles, 'green', { spec: { displayName: 'red' } }, where);
  await expect
    .poll(async () => (await profile('green', where.namespace))?.spec.displayName, within)
    .toBe('green');
  await unbind('global', where.namespace);
  await expect.poll(() => namesIn(where.namespace), within).toEqual(['green']);
  const there = async () => (await profile('green', where.namespace))?.metadata;
  await expect.poll(async () => (await there())?.deletionTimestamp, within).toBeDefined();
  expect(await there()).toMatchObject({ finalizers });
  await admin.mergePatch(profiles, 'green', { metadata: { finalizers: null } }, where);
  await expect.poll(() => namesIn(where.namespace), within).toEqual([]);
});

test('a profile follows its cluster from set to set, and goes with it', async () => {
  await bind('red', 'team-a');
  await bind('blue', 'team-b');
  await admin.delete(profiles, 'blue', { namespace: 'team-b' });
  await expect.poll(() => bound('red', 'team-a'), within).toBe('Bound False SetMissing');
  await makeSet('red');
  await makeSet('blue');
  await expect.poll(() => bound('red', 'team-a'), within).toBe('Bound True Bound');
  await joins('mover', 'red');
  await expect.poll(() => joinedOf('mover', 'team-a'), within).toBe('True');
  expect(await namesIn('team-b')).toEqual([]);
  const moved = { metadata: { labels: { 'rollcall.dev/cluster-set': 'blue' } } };
  await admin.mergePatch(resources.managedClusters, 'mover', moved);
  await expect.poll(() => namesIn('team-a'), within).toEqual([]);
  await expect.poll(() => joinedOf('mover', 'team-b'), within).toBe('True');

  await happens('mover', denied, decision('mover', { verdict: 'denied', clusterSet: 'blue' }));
  await expect.poll(() => joinedOf('mover', 'team-b'), within).toBe('False');
  await happens('mover', leaving, decision('mover', { verdict: 'leaving', clusterSet: 'blue' }));
  await happens('mover', left, { ...identity('mover'), state: 'left' });
  await expect.poll(() => namesIn('team-b'), within).toEqual([]);
});

test('a hub that shows exceptions only has no profiles, and the binding says so', async () => {
  await bind('global', 'team-d');
  await expect.poll(() => namesIn('team-d'), within).toEqual(['blue', 'green']);
  await projector.stop();
  projector = await startProjector({ projection: 'exceptions' });
  await expect.poll(() => namesIn('team-d'), within).toEqual([]);
  await expect.poll(() => bound('global', 'team-d'), within).toBe('Bound False ExceptionsOnly');
});

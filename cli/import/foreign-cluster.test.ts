import { describe, expect, test } from 'vitest';
import {
  type ForeignCluster,
  foreignHeadSchema,
  type ForeignSystem,
  readForeign,
} from './foreign-cluster.ts';
import { readForeignSet } from './foreign-set.ts';
import { clusternet } from './read-clusternet.ts';
import { fleet } from './read-fleet.ts';
import { karmada } from './read-karmada.ts';
import { ocm } from './read-ocm.ts';

const uid = '5b1c9a52-0d3e-4f6a-9b7c-0123456789ab';

interface Parts {
  metadata?: object;
  spec?: object | null;
  status?: object | null;
}
const tryToRead = (system: ForeignSystem, { metadata = {}, spec = {}, status = {} }: Parts) =>
  readForeign(
    system,
    foreignHeadSchema.parse({
      apiVersion: `${system.group}/${system.version}`,
      kind: system.kind,
      metadata: { name: 'edge-1', ...metadata },
      spec,
      status,
    }),
  );
function read(system: ForeignSystem, parts: Parts): ForeignCluster {
  const found = tryToRead(system, parts);
  if ('why' in found) throw new Error(found.why);
  return found;
}

test('an object that cannot be read is named, and why', () => {
  expect(tryToRead(ocm, { metadata: { labels: { env: 1 } } })).toEqual({
    source: 'ManagedCluster/edge-1',
    name: 'edge-1',
    why: 'metadata.labels.env: Invalid input: expected string, received number',
  });
  expect(tryToRead(fleet, { metadata: { namespace: 'a' }, spec: [] })).toMatchObject({
    source: 'Cluster/a/edge-1',
  });
});

test('what is null is not there', () => {
  const found = read(fleet, { metadata: { labels: null }, spec: null, status: null });
  expect(found).toMatchObject({ labels: {}, settings: {} });
});

test('a cluster that is being deleted is taken over, and that is said', () => {
  const { notes } = read(fleet, {
    metadata: { deletionTimestamp: '2026-11-21T12:00:00Z' },
    spec: { clientID: 'a' },
  });
  expect(notes).toEqual(['it is being deleted there']);
});

test('of more labels than a cluster keeps the first are taken, by key', () => {
  const keys = Array.from({ length: 66 }, (_, index) => `k${String(index).padStart(2, '0')}`);
  const labels = Object.fromEntries(keys.toReversed().map((key) => [key, 'x']));
  const found = read(fleet, { metadata: { labels }, spec: { clientID: 'a' } });
  expect(Object.keys(found.labels).toSorted()).toEqual(keys.slice(0, 64));
  expect(found.notes).toEqual(['labels beyond the 64 that a cluster keeps are dropped: k64, k65']);
});

test('a taint that is odd costs only itself', () => {
  const good = { key: 'gpu', value: null, effect: 'NoExecute' };
  const found = read(clusternet, { spec: { clusterId: 'a', taints: [null, good, { key: 1 }] } });
  expect(found.settings.taints).toEqual([{ key: 'gpu', effect: 'NoExecute' }]);
  expect(found.notes).toEqual([
    'taint null is not taken over: it cannot be read',
    'taint {"key":1} is not taken over: it cannot be read',
  ]);
});

describe('Open Cluster Management', () => {
  test('id by its claim, set, labels, addresses and taints of people', () => {
    const found = read(ocm, {
      metadata: {
        labels: {
          env: 'prod',
          'cluster.open-cluster-management.io/clusterset': 'emea',
          'feature.open-cluster-management.io/addon-work-manager': 'available',
          'topology.kubernetes.io/region': 'eu',
        },
      },
      spec: {
        hubAcceptsClient: true,
        leaseDurationSeconds: 60,
        managedClusterClientConfigs: [{ url: 'https://edge-1:6443', caBundle: 'QUJD' }],
        taints: [
          { key: 'cluster.open-cluster-management.io/unreachable', effect: 'NoSelect' },
          { key: 'gpu', value: 'true', effect: 'NoSelect' },
        ],
      },
      status: { clusterClaims: [{ name: 'id.k8s.io', value: uid }] },
    });
    expect(found).toEqual({
      source: 'ManagedCluster/edge-1',
      name: 'edge-1',
      id: { clusterId: uid },
      clusterSet: 'emea',
      labels: { env: 'prod' },
      settings: { clientConfigs: [{ url: 'https://edge-1:6443', caBundle: 'QUJD' }] },
      notes: [
        'taint "gpu" is not taken over: there is no effect NoSelect here, and NoExecute is most like it',
        'labels that belong to Open Cluster Management are dropped: cluster.open-cluster-management.io/clusterset, feature.open-cluster-management.io/addon-work-manager',
        'labels with a reserved prefix are dropped: topology.kubernetes.io/region',
      ],
    });
  });

  test.each([
    { name: 'a claim that is no UID', status: { clusterClaims: [{ name: 'id.k8s.io', value: 'x' }] } },
    { name: 'claims of another shape', status: { clusterClaims: 'none' } },
    { name: 'no claim', status: {} },
  ])('$name: the client id is its name, and that is said', ({ status }) => {
    const found = read(ocm, { status });
    expect(found.id).toEqual({ clientId: 'edge-1' });
    expect(found.notes).toEqual(['it has no claim id.k8s.io: its agent is known by client id "edge-1"']);
  });

  test('a client config that is odd costs only itself', () => {
    const managedClusterClientConfigs = [
      { caBundle: 'QUJD' },
      { url: 'https://edge-1:6443', caBundle: null },
    ];
    const { clientConfigs } = read(ocm, { spec: { managedClusterClientConfigs } }).settings;
    expect(clientConfigs).toEqual([{ url: 'https://edge-1:6443' }]);
  });

  test('the set of those in no other one is none', () => {
    const labels = { 'cluster.open-cluster-management.io/clusterset': 'default' };
    expect(read(ocm, { metadata: { labels } }).clusterSet).toBeUndefined();
  });

  test.each([
    { spec: { hubAcceptsClient: false }, says: 'it is not accepted there' },
    {
      spec: { leaseDurationSeconds: 5 },
      says: 'spec.leaseDurationSeconds is not taken over: set spec.heartbeat',
    },
    {
      spec: { managedClusterClientConfigs: [{ url: 'http://edge-1' }] },
      says: 'client config "http://edge-1" is not taken over: it is no https address',
    },
    {
      spec: { managedClusterClientConfigs: [{ url: 1 }] },
      says: 'client config {"url":1} is not taken over: it cannot be read',
    },
    { spec: { something: { new: 1 } }, says: 'spec.something is not taken over' },
  ])('$says', ({ spec, says }) => {
    expect(read(ocm, { spec }).notes).toContain(says);
  });
});

const emptySelector = { type: 'LabelSelector', labelSelector: {} };
const ocmSet = (spec: unknown) =>
  foreignHeadSchema.parse({
    apiVersion: `${ocm.group}/v1beta2`,
    kind: 'ManagedClusterSet',
    metadata: { name: 'emea' },
    spec,
  });
const byLabels = (labelSelector: object) => ({ selectorType: 'LabelSelector', labelSelector });

test.each([
  { clusterSelector: undefined, want: { type: 'ExclusiveLabel' } },
  { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' }, want: { type: 'ExclusiveLabel' } },
  { clusterSelector: { selectorType: 'LegacyClusterSetLabel' }, want: { type: 'ExclusiveLabel' } },
  {
    clusterSelector: { selectorType: 'LabelSelector' },
    want: 'it selects by labels and has no labelSelector',
  },
  {
    clusterSelector: { selectorType: 'LabelSelector', labelSelector: null },
    want: 'it selects by labels and has no labelSelector',
  },
  { clusterSelector: byLabels({}), want: emptySelector },
  {
    clusterSelector: byLabels({ matchLabels: { 'a.open-cluster-management.io/b': 'c' } }),
    want: { type: 'LabelSelector' },
    notes: ['it selects by labels that clusters do not keep here: a.open-cluster-management.io/b'],
  },
  {
    clusterSelector: byLabels({ matchExpressions: [{ key: 'a', operator: 'Gt' }] }),
    want: 'its labelSelector is none that a set has here',
  },
  { clusterSelector: { selectorType: 'Other' }, want: 'there is no selector of its type here' },
  { clusterSelector: 'odd', want: 'there is no selector of its type here' },
])('a set of Open Cluster Management with $clusterSelector', ({ clusterSelector, want, notes = [] }) => {
  const { sets } = ocm;
  const set =
    sets && readForeignSet(ocm, sets, ocmSet(clusterSelector === undefined ? {} : { clusterSelector }));
  expect(set).toMatchObject({ source: 'ManagedClusterSet/emea', name: 'emea', notes, selector: want });
});

test('of a set, too, what stays behind is said, and one that cannot be read is named', () => {
  const { sets } = ocm;
  if (!sets) throw new Error('it has sets');
  const withMore = ocmSet({ managedNamespaces: [{ name: 'a' }] });
  expect(readForeignSet(ocm, sets, withMore).notes).toEqual(['spec.managedNamespaces is not taken over']);
  expect(readForeignSet(ocm, sets, ocmSet('odd'))).toMatchObject({
    source: 'ManagedClusterSet/emea',
    selector: expect.stringContaining('spec: '),
  });
});

describe('Karmada', () => {
  test('id, address, place, cordon and taints; the mode is told', () => {
    const found = read(karmada, {
      metadata: { labels: { region: 'kept', 'cluster.karmada.io/x': 'y' } },
      spec: {
        id: uid,
        syncMode: 'Push',
        apiEndpoint: 'https://edge-1:6443',
        secretRef: { name: 'edge-1', namespace: 'karmada-cluster' },
        insecureSkipTLSVerification: false,
        provider: 'metal',
        region: 'eu',
        zones: ['a'],
        taints: [
          { key: 'cluster.karmada.io/unschedulable', effect: 'NoSchedule' },
          { key: 'cluster.karmada.io/not-ready', effect: 'NoExecute' },
          { key: 'gpu', value: '', effect: 'NoExecute' },
        ],
      },
    });
    expect(found).toMatchObject({
      id: { clusterId: uid },
      labels: { provider: 'metal', region: 'kept', zone: 'a' },
      settings: {
        clientConfigs: [{ url: 'https://edge-1:6443' }],
        unschedulable: true,
        taints: [{ key: 'gpu', effect: 'NoExecute' }],
      },
    });
    expect(found.notes).toEqual([
      'it is in push mode there: here its agent registers',
      'labels that belong to Karmada are dropped: cluster.karmada.io/x',
      'spec.secretRef is not taken over',
    ]);
  });

  test.each([
    {
      apiEndpoint: 'http://edge-1:6443',
      want: ['spec.apiEndpoint "http://edge-1:6443" is not taken over: it is no https address'],
    },
    { apiEndpoint: 'https://edge-1:6443', want: [] },
    { apiEndpoint: '', want: [] },
  ])('apiEndpoint "$apiEndpoint"', ({ apiEndpoint, want }) => {
    const { settings, notes } = read(karmada, { spec: { id: uid, apiEndpoint } });
    expect(notes).toEqual(want);
    expect(settings.clientConfigs !== undefined).toBe(apiEndpoint.startsWith('https:'));
  });

  test('an odd taint is no cordon', () => {
    const taints = [null, { key: 'cluster.karmada.io/unschedulable', effect: 'NoSchedule' }];
    expect(read(karmada, { spec: { id: uid, taints } }).settings).toEqual({ unschedulable: true });
  });

  test('a zone that is no text is left out, and that is said', () => {
    const { labels, notes } = read(karmada, { spec: { id: uid, zones: ['a', { toString: 1 }, null] } });
    expect(labels).toEqual({ zone: 'a' });
    expect(notes).toEqual([
      'zone {"toString":1} is not taken over: it cannot be read',
      'zone null is not taken over: it cannot be read',
    ]);
  });

  test('several zones are no label, and without an id it is known by its name', () => {
    const found = read(karmada, { spec: { syncMode: 'Pull', zones: ['a', 'b'], taints: 'odd' } });
    expect([found.id, found.labels]).toEqual([{ clientId: 'edge-1' }, {}]);
    expect(found.notes).toEqual([
      'it has no spec.id: its agent is known by client id "edge-1"',
      'spec.zones is not taken over: a label has one value',
      'taint "odd" is not taken over: it cannot be read',
    ]);
  });
});

describe('Clusternet', () => {
  test('named by its label, known by the id that it has there', () => {
    const labels = { 'clusters.clusternet.io/cluster-name': 'shop', team: 'a' };
    const found = read(clusternet, {
      metadata: { name: 'clusternet-cluster-x', namespace: 'clusternet-abc', labels },
      spec: { clusterId: uid, clusterType: 'EdgeCluster', syncMode: 'Dual', clusterInitBaseName: 'base' },
    });
    expect(found).toMatchObject({
      source: 'ManagedCluster/clusternet-abc/clusternet-cluster-x',
      name: 'shop',
      id: { clientId: uid },
      labels: { team: 'a' },
      settings: { clusterType: 'Edge' },
    });
    expect(found.notes).toEqual([
      'its sync mode is Dual there: here its agent registers',
      'labels that belong to Clusternet are dropped: clusters.clusternet.io/cluster-name',
      'spec.clusterInitBaseName is not taken over',
    ]);
  });
});

describe('Fleet', () => {
  test.each([
    { clientID: uid, want: { clusterId: uid } },
    { clientID: 'Plant 7', want: { clientId: 'Plant 7' } },
    { clientID: '', want: { clientId: 'edge-1' } },
  ])('clientID "$clientID" is $want', ({ clientID, want }) => {
    expect(read(fleet, { spec: { clientID } }).id).toEqual(want);
  });

  test('what the agent was told, and a kubeconfig Secret, stay behind and are named', () => {
    const found = read(fleet, {
      metadata: { namespace: 'fleet-default', labels: { env: 'dev', 'management.cattle.io/x': 'y' } },
      spec: {
        clientID: 'a',
        kubeConfigSecret: 'edge-1-kubeconfig',
        paused: false,
        agentEnvVars: [{ name: 'A' }],
      },
    });
    expect(found.labels).toEqual({ env: 'dev' });
    expect(found.notes).toEqual([
      'its kubeconfig Secret "edge-1-kubeconfig" is not read: here its agent registers',
      'labels that belong to Fleet are dropped: management.cattle.io/x',
      'spec.agentEnvVars is not taken over',
    ]);
  });
});

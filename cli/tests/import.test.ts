import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyManifests, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import type { ManagedClusterSet } from '@rollcall/shared/resources';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  conditionOf,
  startTestEmbeddedHub,
  type TestEmbeddedHub,
  until,
} from '../../tests/harness/embedded.ts';
import { fleet } from '../import/read-fleet.ts';
import { clusternet } from '../import/read-clusternet.ts';
import { karmada } from '../import/read-karmada.ts';
import { ocm } from '../import/read-ocm.ts';
import { runCli } from './run-cli.ts';

/** Clusters of other systems, whose kinds stand beside ours in one API server, become predefined ones. */
let hub: TestEmbeddedHub;
let directory: string;
const uid = (last: number) => `5b1c9a52-0d3e-4f6a-9b7c-00000000000${last}`;

/** Their kinds as far as we read them. */
const crdOf = ({ group, version, plural, kind, namespaced }: Resource) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: namespaced ? 'Namespaced' : 'Cluster',
    names: { plural, kind, singular: kind.toLowerCase() },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      },
    ],
  },
});

/** The kind of its sets; in the same group as its clusters. */
const ocmSets: Resource = {
  ...ocm,
  version: 'v1beta2',
  plural: 'managedclustersets',
  kind: 'ManagedClusterSet',
};
const selecting = (labelSelector: object) => ({
  clusterSelector: { selectorType: 'LabelSelector', labelSelector },
});

const object = (system: Resource, metadata: KubeObject['metadata'], spec: object) => ({
  apiVersion: `${system.group}/${system.version}`,
  kind: system.kind,
  metadata,
  spec,
});

const objects = [
  object(
    ocm,
    {
      name: 'ocm-1',
      labels: { env: 'prod', 'cluster.open-cluster-management.io/clusterset': 'emea', 'x.k8s.io/y': 'z' },
    },
    { hubAcceptsClient: true, managedClusterClientConfigs: [{ url: 'https://ocm-1.example.org:6443' }] },
  ),
  object(ocm, { name: 'a.b' }, {}),
  object(ocmSets, { name: 'global' }, selecting({})),
  object(ocmSets, { name: 'prod' }, selecting({ matchLabels: { env: 'prod' } })),
  object(karmada, { name: 'karmada-1' }, { id: uid(1), syncMode: 'Pull', region: 'eu', provider: 'metal' }),
  object(
    clusternet,
    {
      name: 'clusternet-cluster-x',
      namespace: 'theirs',
      labels: { 'clusters.clusternet.io/cluster-name': 'clusternet-1' },
    },
    { clusterId: uid(2), clusterType: 'EdgeCluster', syncMode: 'Pull' },
  ),
  object(
    fleet,
    { name: 'fleet-1', namespace: 'theirs', labels: { tier: 'branch' } },
    { clientID: 'Plant 7' },
  ),
];

beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  directory = mkdtempSync(join(tmpdir(), 'rollcall-import-'));
  const { admin } = hub.up;
  await applyManifests(admin, [ocm, ocmSets, karmada, clusternet, fleet].map(crdOf));
  await admin.create(resources.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'theirs' },
  });
  for (const each of objects)
    await until(`${each.kind}/${each.metadata.name} is there`, () =>
      applyManifests(admin, [each]).then(
        () => true,
        // The API server serves a kind a moment after it has taken it.
        () => false,
      ),
    );
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const kubeconfig = () => hub.up.plane.adminKubeconfigPath;
const rollcall = (from: string, ...args: string[]) =>
  runCli(['import', '--from', from, ...args, '--kubeconfig', kubeconfig()]);
const fromHub = () => ['--from-kubeconfig', kubeconfig()];

test('without --apply nothing is made, and everything that would be is said, and what stays behind', async () => {
  const { code, stdout, stderr } = await rollcall('ocm', ...fromHub());
  expect(stdout).toBe(
    'set "global" is there already\nset "prod" would be made\nset "emea" would be made\ncluster "ocm-1" would be made: client id "ocm-1", labels env=prod, set "emea"\n',
  );
  expect(stderr).toContain('ManagedCluster/a.b cannot be taken over: "a.b" cannot be the name of a cluster');
  expect(stderr).toContain('ocm-1: labels with a reserved prefix are dropped: x.k8s.io/y');
  expect(stderr).toContain('nothing was changed; --apply makes them');
  expect(stderr).toContain(
    'rollcall token create --cluster-name ocm-1 --client-id ocm-1 --cluster-set emea --print-register-command',
  );
  // One of the two cannot be taken over.
  expect(code).toBe(1);
  expect(await hub.cluster('ocm-1')).toBeUndefined();
  expect(await hub.up.admin.get(resources.managedClusterSets, { name: 'emea' })).toBeUndefined();
});

test('with --apply it is made, once, and its agent keeps what it had', async () => {
  const { stdout } = await rollcall('ocm', ...fromHub(), '--apply');
  expect(stdout).toContain('set "prod" is made\nset "emea" is made\ncluster "ocm-1" is made: ');
  const made = await until('it is predefined', async () => {
    const found = await hub.cluster('ocm-1');
    return conditionOf(found, 'Accepted')?.reason === 'Predefined' && found;
  });
  expect(made.metadata.labels).toMatchObject({ env: 'prod', 'rollcall.dev/cluster-set': 'emea' });
  expect(made.spec.clientConfigs).toEqual([{ url: 'https://ocm-1.example.org:6443' }]);
  const again = await rollcall('ocm', ...fromHub(), '--apply');
  expect(again.stdout).toBe(
    'set "global" is there already\nset "prod" is there already\ncluster "ocm-1" is there already\n',
  );

  const { text } = await hub.createToken({ clusterName: 'ocm-1', clientId: 'ocm-1', clusterSet: 'emea' });
  await hub.startAgent({ name: 'ocm-1', token: text });
  const ready = await hub.untilReady('ocm-1');
  expect(ready.metadata.labels).toMatchObject({ env: 'prod', 'rollcall.dev/cluster-set': 'emea' });
  expect(ready.spec.clientConfigs).toHaveLength(1);
  await until('the set that selects it counts it', async () => {
    const set = await hub.up.admin.get<ManagedClusterSet>(resources.managedClusterSets, { name: 'prod' });
    return set?.status?.clusters === 1;
  });
});

test.each([
  {
    from: 'karmada',
    want: `cluster "karmada-1" is made: cluster id ${uid(1)}, labels provider=metal,region=eu\n`,
  },
  { from: 'clusternet', want: `cluster "clusternet-1" is made: client id "${uid(2)}"\n` },
  { from: 'fleet', want: 'cluster "fleet-1" is made: client id "Plant 7", labels tier=branch\n' },
])('clusters of $from are read on its hub and made here', async ({ from, want }) => {
  const { code, stdout } = await rollcall(from, ...fromHub(), '--apply');
  expect([code, stdout]).toEqual([0, want]);
  const name = /"(.+?)"/.exec(want)?.[1] ?? '';
  await until('it is predefined', async () => {
    const found = await hub.cluster(name);
    return conditionOf(found, 'Accepted')?.reason === 'Predefined';
  });
});

test('a file will do, lists in it too; as a list of manifests it can be kept and applied', async () => {
  const items = ['one', 'two'].map((name) => object(fleet, { name, namespace: 'x' }, { clientID: name }));
  const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'beside' } };
  const path = join(directory, 'fleet.yaml');
  writeFileSync(path, `${stringify({ apiVersion: 'v1', kind: 'List', items })}---\n${stringify(other)}`);
  const { code, stdout, stderr } = await rollcall('fleet', '-f', path, '-o', 'yaml');
  expect(stderr).toContain('not looked at: ConfigMap/beside');
  expect(code).toBe(0);
  const { items: made } = parse(stdout) as { items: KubeObject[] };
  expect(made).toMatchObject([
    { kind: 'ManagedCluster', metadata: { name: 'one' }, spec: { clientId: 'one' } },
    { kind: 'ManagedCluster', metadata: { name: 'two' }, spec: { clientId: 'two' } },
  ]);
  await applyManifests(hub.up.admin, made);
  expect((await rollcall('fleet', '-f', path)).stdout).toBe(
    'cluster "one" is there already\ncluster "two" is there already\n',
  );
});

test('an object that cannot be read is refused alone, by its name, and only what would be made is told', async () => {
  const odd = object(fleet, { name: 'odd', namespace: 'x', labels: { a: 1 as unknown as string } }, {});
  const path = written('odd.yaml', `${stringify(odd)}---\n${stringify(object(fleet, { name: 'one' }, {}))}`);
  const { code, stdout, stderr } = await rollcall('fleet', '-f', path);
  expect(stderr).toMatch(/^Cluster\/x\/odd cannot be taken over: metadata\.labels\.a: /m);
  expect(stderr).not.toContain('nothing was changed');
  expect([code, stdout]).toEqual([1, 'cluster "one" is there already\n']);
});

test('sets without clusters are something to make, too', async () => {
  const path = written('set.yaml', stringify(object(ocmSets, { name: 'only-a-set' }, {})));
  const { code, stdout, stderr } = await rollcall('ocm', '-f', path);
  expect([code, stdout]).toEqual([0, 'set "only-a-set" would be made\n']);
  expect(stderr).toContain('nothing was changed; --apply makes them');
  expect(stderr).not.toContain('nobody is let in');
});

test.each([
  {
    name: '--apply and manifests',
    args: () => ['-f', 'x.yaml', '--apply', '-o', 'yaml'],
    code: 2,
    says: 'give either that or --apply',
  },
  { name: 'neither files nor a hub', args: () => [], code: 2, says: 'say where its clusters are' },
  {
    name: 'both',
    args: () => ['-f', 'x.yaml', '--from-context', 'y'],
    code: 2,
    says: 'give either files or a hub',
  },
  { name: 'no such file', args: () => ['-f', 'nowhere.yaml'], code: 2, says: 'cannot read "nowhere.yaml"' },
  {
    name: 'no YAML',
    args: () => ['-f', written('bad.yaml', 'a: [')],
    code: 2,
    says: 'cannot be read as YAML',
  },
  {
    name: 'YAML that nests without end',
    args: () => ['-f', written('deep.yaml', '['.repeat(100))],
    code: 2,
    says: 'it nests deeper than',
  },
  {
    name: 'no Kubernetes object',
    args: () => ['-f', written('text.yaml', 'hello')],
    code: 2,
    says: 'holds something that is no Kubernetes object',
  },
])('$name: exit $code, and the text says what is meant', async ({ args, code, says }) => {
  const result = await rollcall('fleet', ...args());
  expect(result.stderr).toContain(says);
  expect([result.code, result.stdout]).toEqual([code, '']);
});

function written(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

test('a hub that is none of that system says so', async () => {
  await hub.up.admin.delete(resources.customResourceDefinitions, `${fleet.plural}.${fleet.group}`);
  await until('the kind is gone', async () => {
    const { status } = await hub.up.admin.raw(`/apis/${fleet.group}/${fleet.version}/${fleet.plural}`);
    return status === 404;
  });
  const none = await rollcall('fleet', ...fromHub());
  expect(none.stderr).toContain('has no clusters.fleet.cattle.io: it is no hub of Fleet');
  expect(none.code).toBe(1);
});

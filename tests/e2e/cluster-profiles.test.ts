import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseMemberAccess } from '@rollcall/agent';
import {
  applyManifests,
  type KubeClient,
  type KubeObject,
  requestAccountToken,
  type Resource,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import type { ClusterProfile, Condition } from '@rollcall/shared/resources';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { onceServed } from '../../cli/up/hub-manifests.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { coldBuildMs, goProgram, hasGo } from '../harness/go-programs.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A tool on the hub that finds members by ClusterProfiles and gets in as its own ServiceAccount, by the plugin, as kubectl runs it. */
let hub: TestEmbeddedHub;
let member: TestControlPlane;
let folder: string;
const programs = { fleetClient: '', multikueue: '' };
const namespace = 'fleet-tools';
const consumer = `system:serviceaccount:${namespace}:consumer`;
const rbac = 'rbac.authorization.k8s.io';
const rollcall = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const tokenFile = () => join(folder, 'token');

beforeAll(async () => {
  if (!hasGo()) return;
  programs.fleetClient = await goProgram('fleet-client', 'fleet-client');
  programs.multikueue = await goProgram('multikueue', 'multikueue');
}, coldBuildMs);

beforeAll(async () => {
  [hub, member] = await Promise.all([
    startTestEmbeddedHub(),
    startTestControlPlane({ withManifests: false }),
  ]);
  folder = mkdtempSync(join(tmpdir(), 'rollcall-profiles-'));
  await applyManifests(hub.up.admin, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'consumer', namespace } },
    {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedClusterSetBinding',
      metadata: { name: 'global', namespace },
      spec: { clusterSet: 'global' },
    },
  ]);
  const account = { namespace, name: 'consumer' };
  writeFileSync(tokenFile(), (await requestAccountToken(hub.up.admin, account, {})).token ?? '');
  const access = parseMemberAccess([`user:${consumer}`]);
  const only = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'only-in-the-member' } };
  await applyManifests(member.admin, [only]);
  for (const [name, more] of [
    ['open', { member: member.plane.access, more: { memberAccess: access } }],
    ['closed', {}],
  ] as const) {
    const token = await hub.createToken({ clusterName: name });
    await hub.startAgent({ name, token: token.text, ...more });
    await hub.untilReady(name);
  }
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await hub[Symbol.asyncDispose]();
  await member[Symbol.asyncDispose]();
});

/** A program that goes on until it is killed. */
function startProgram(program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = `${said}${text}`.slice(-4000)));
  return {
    /** The newest of it. */
    said: () => said,
    async [Symbol.asyncDispose]() {
      if ((child.exitCode ?? child.signalCode) !== null) return;
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

/** What the hub and the owner of the member each say. */
async function letIn(
  admin: KubeClient,
  { user, role, rules }: { user: string; role: string; rules: readonly object[] },
): Promise<void> {
  const subjects = [{ apiGroup: rbac, kind: 'User', name: user }];
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: role };
  await applyManifests(admin, [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: role }, rules } as KubeObject,
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: role },
      roleRef,
      subjects,
    } as KubeObject,
  ]);
}

const profile = (name: string) =>
  hub.up.admin.get<ClusterProfile>(resources.clusterProfiles, { name, namespace });
const wayOf = ({ status }: StoredObject<ClusterProfile>) => status?.accessProviders?.[0];

/** As a tool does: what the profile says, and the plugin of the way's name. */
async function kubectlBy(
  way: NonNullable<ReturnType<typeof wayOf>>,
  args: readonly string[],
  plugin: readonly string[],
): Promise<{ stdout: string; stderr: string }> {
  const file = join(folder, `${randomUUID()}.kubeconfig`);
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: process.execPath,
    args: [rollcall, 'credentials', ...plugin],
    provideClusterInfo: true,
    interactiveMode: 'Never',
  };
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'way', cluster: way.cluster }],
    users: [{ name: 'tool', user: { exec } }],
    contexts: [{ name: 'way', context: { cluster: 'way', user: 'tool' } }],
    'current-context': 'way',
  };
  writeFileSync(file, JSON.stringify(kubeconfig));
  const all = ['--kubeconfig', file, '--cache-dir', join(folder, randomUUID()), ...args];
  return promisify(execFile)(findBinary('kubectl'), all).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  );
}
const getNamespaces = ['get', 'namespaces', '-o', 'name'];
const byFile = () => ['--token-file', tokenFile(), '--hub', hub.up.plane.access.server];

test('a tool with a ServiceAccount of its own lists namespaces of a member by what its ClusterProfile says [X-9]', async () => {
  const way = await until('the profile shows a way', async () => {
    const found = await profile('open');
    return found && wayOf(found);
  });
  expect(way.name).toBe('rollcall');
  const unknown = await kubectlBy(way, getNamespaces, byFile());
  expect(unknown).toMatchObject({ stdout: '', stderr: expect.stringContaining('(Forbidden)') });
  const rules = [
    {
      apiGroups: ['proxy.rollcall.dev'],
      resources: ['managedclusters/proxy'],
      resourceNames: ['open'],
      verbs: ['get', 'list'],
    },
  ];
  await letIn(hub.up.admin, { user: consumer, role: 'into-open', rules });
  await until('the hub lets it through, and the member refuses it', async () => {
    const { stderr } = await kubectlBy(way, getNamespaces, byFile());
    return stderr.includes(`User "rollcall:${consumer}" cannot list resource "namespaces"`);
  });
  const inMember = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list'] }];
  await letIn(member.admin, { user: `rollcall:${consumer}`, role: 'looks-around', rules: inMember });
  const listed = await until('the member lets it in', async () => {
    const { stdout } = await kubectlBy(way, getNamespaces, byFile());
    return stdout !== '' && stdout;
  });
  expect(listed).toContain('namespace/only-in-the-member');

  const ofHub = ['--kubeconfig', hub.up.plane.adminKubeconfigPath];
  const byAccount = [...ofHub, '--service-account', `${namespace}/consumer`];
  expect((await kubectlBy(way, getNamespaces, byAccount)).stdout).toBe(listed);
});

/** The plugin, as libraries of others run it. */
const execConfig = () => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: process.execPath,
  args: [rollcall, 'credentials', ...byFile()],
  provideClusterInfo: true,
  interactiveMode: 'Never',
});

test.runIf(hasGo())(
  'the library of SIG Multicluster gets in by the profile and the plugin alone [X-9]',
  async () => {
    const providers = join(folder, 'providers.json');
    writeFileSync(providers, JSON.stringify({ providers: [{ name: 'rollcall', execConfig: execConfig() }] }));
    const shown = join(folder, 'profile.json');
    writeFileSync(shown, JSON.stringify(await profile('open')));
    const { stdout } = await promisify(execFile)(programs.fleetClient, ['namespaces', providers, shown]);
    expect(stdout.split('\n')).toContain('only-in-the-member');
    writeFileSync(shown, JSON.stringify(await profile('closed')));
    await expect(
      promisify(execFile)(programs.fleetClient, ['namespaces', providers, shown]),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining('no matching cluster accessor found for cluster profile "closed"'),
    });
  },
);

/** A kind of Kueue, without what it checks. */
const kindOfKueue = (kind: string, scope: 'Cluster' | 'Namespaced') => {
  const [singular, plural] = [kind.toLowerCase(), `${kind.toLowerCase()}s`];
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const subresources = { status: {} };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.kueue.x-k8s.io` },
    spec: {
      group: 'kueue.x-k8s.io',
      scope,
      names: { kind, listKind: `${kind}List`, singular, plural },
      versions: [{ name: 'v1beta2', served: true, storage: true, schema, subresources }],
    },
  } as KubeObject;
};
const multiKueueClusters: Resource = {
  group: 'kueue.x-k8s.io',
  version: 'v1beta2',
  plural: 'multikueueclusters',
  kind: 'MultiKueueCluster',
  namespaced: false,
};

test.runIf(hasGo())(
  'Kueue works in a member by its profile, and says when the hub has shut it [X-9]',
  async () => {
    const workloads = kindOfKueue('Workload', 'Namespaced');
    const others = ['MultiKueueCluster', 'MultiKueueConfig', 'AdmissionCheck'];
    await applyManifests(hub.up.admin, [workloads, ...others.map((kind) => kindOfKueue(kind, 'Cluster'))]);
    await applyManifests(member.admin, [workloads]);
    const inHub = ['get', 'list', 'watch'];
    const toMember = {
      apiGroups: ['proxy.rollcall.dev'],
      resources: ['managedclusters/proxy'],
      verbs: inHub,
    };
    await letIn(hub.up.admin, { user: consumer, role: 'kueue', rules: [toMember] });
    const watches = [{ apiGroups: ['kueue.x-k8s.io'], resources: ['workloads'], verbs: inHub }];
    await letIn(member.admin, { user: `rollcall:${consumer}`, role: 'kueue', rules: watches });

    const providers = join(folder, 'kueue.json');
    const credentialsProviders = [{ name: 'rollcall', execConfig: execConfig() }];
    writeFileSync(providers, JSON.stringify({ credentialsProviders }));
    const args = [hub.up.plane.adminKubeconfigPath, namespace, providers];
    await using kueue = startProgram(programs.multikueue, args);
    const open = {
      apiVersion: 'kueue.x-k8s.io/v1beta2',
      kind: 'MultiKueueCluster',
      metadata: { name: 'open' },
      spec: { clusterSource: { clusterProfileRef: { name: 'open' } } },
    } as KubeObject;
    await onceServed(() => hub.up.admin.create(multiKueueClusters, open));
    const becomes = (wanted: string) =>
      until(`Kueue says ${wanted}`, async () => {
        const found = await hub.up.admin.get<KubeObject<object, { conditions?: Condition[] }>>(
          multiKueueClusters,
          { name: 'open' },
        );
        const active = found?.status?.conditions?.find(({ type }) => type === 'Active');
        return active?.status === wanted && active;
      }).catch((cause: unknown) => {
        throw new Error(kueue.said(), { cause });
      });
    expect(await becomes('True')).toMatchObject({ reason: 'Active', message: 'Connected' });
    await hub.up.admin.mergePatch(resources.managedClusters, 'open', { spec: { memberAccess: 'Denied' } });
    await becomes('False');
  },
);

test('no way is shown where the owner lets nobody in, or once it was shut on the hub', async () => {
  const closed = await until('there is a profile', () => profile('closed'));
  expect(wayOf(closed)).toBeUndefined();
  await hub.up.admin.mergePatch(resources.managedClusters, 'open', { spec: { memberAccess: 'Denied' } });
  await until('the way is gone', async () => {
    const found = await profile('open');
    return found && wayOf(found) === undefined;
  });
});

test('the plugin gives no token for an address that is no member of its hub', async () => {
  const server = 'https://elsewhere/apis/proxy.rollcall.dev/v1alpha1/managedclusters/open/proxy';
  const info = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { cluster: { server } },
  };
  const ran = await runCli(['credentials', ...byFile()], {
    environment: { KUBERNETES_EXEC_INFO: JSON.stringify(info) },
  });
  expect(ran).toMatchObject({ code: 2, stdout: '' });
  expect(ran.stderr).toContain(`leads to "${server}", which is no member of the hub`);
});

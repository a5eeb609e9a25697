import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseMemberAccess } from '@rollcall/agent';
import {
  applyManifests,
  type KubeObject,
  requestAccountToken,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import type { ClusterProfile } from '@rollcall/shared/resources';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A tool on the hub that finds members by ClusterProfiles and gets in as its own ServiceAccount, by the plugin, as kubectl runs it. */
let hub: TestEmbeddedHub;
let folder: string;
const namespace = 'fleet-tools';
const consumer = `system:serviceaccount:${namespace}:consumer`;
const rbac = 'rbac.authorization.k8s.io';
const rollcall = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const tokenFile = () => join(folder, 'token');

beforeAll(async () => {
  hub = await startTestEmbeddedHub();
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
  for (const [name, memberAccess] of [
    ['open', access],
    ['closed', undefined],
  ] as const) {
    const token = await hub.createToken({ clusterName: name });
    await hub.startAgent({ name, token: token.text, more: memberAccess ? { memberAccess } : {} });
    await hub.untilReady(name);
  }
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await hub[Symbol.asyncDispose]();
});

/** What the hub and the owner of the member each say. */
async function letIn(user: string, role: string, rules: readonly object[]): Promise<void> {
  const subjects = [{ apiGroup: rbac, kind: 'User', name: user }];
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: role };
  await applyManifests(hub.up.admin, [
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
  await letIn(consumer, 'into-open', [
    {
      apiGroups: ['proxy.rollcall.dev'],
      resources: ['managedclusters/proxy'],
      resourceNames: ['open'],
      verbs: ['get', 'list'],
    },
  ]);
  await until('the hub lets it through, and the member refuses it', async () => {
    const { stderr } = await kubectlBy(way, getNamespaces, byFile());
    return stderr.includes(`User "rollcall:${consumer}" cannot list resource "namespaces"`);
  });
  await letIn(`rollcall:${consumer}`, 'looks-around', [
    { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list'] },
  ]);
  const listed = await until('the member lets it in', async () => {
    const { stdout } = await kubectlBy(way, getNamespaces, byFile());
    return stdout !== '' && stdout;
  });
  expect(listed).toContain('namespace/kube-system');

  const ofHub = ['--kubeconfig', hub.up.plane.adminKubeconfigPath];
  const byAccount = [...ofHub, '--service-account', `${namespace}/consumer`];
  expect((await kubectlBy(way, getNamespaces, byAccount)).stdout).toBe(listed);
});

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

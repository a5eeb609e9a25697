import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubeClient, loadKubeAccess, resources } from '@rollcall/shared/kubernetes';
import { afterAll, expect, test } from 'vitest';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../../cli/up/control-plane/control-plane.ts';

const { namespaces } = resources;
const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-plane-'));
afterAll(() => rm(stateDir, { recursive: true, force: true }));

const start = (change: Partial<ControlPlaneOptions> = {}): Promise<ControlPlane> =>
  startControlPlane({
    stateDir: join(stateDir, 'hub'),
    withControllerManager: true,
    auditPolicy: 'metadata',
    ...change,
  });
const clientOf = (plane: ControlPlane) =>
  createKubeClient(plane.access, { fieldManager: 'rollcall', userAgent: 'rollcall-test' });
const uidOfCluster = async (plane: ControlPlane): Promise<string | undefined> => {
  const client = clientOf(plane);
  const namespace = await client.get(namespaces, { name: 'kube-system' });
  client.close();
  return namespace?.metadata.uid;
};

test('the controller manager removes namespaces, and writes are audited', async () => {
  await using plane = await start();
  const client = clientOf(plane);
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'short-lived' } });
  await client.delete(namespaces, 'short-lived');
  await expect
    .poll(() => client.get(namespaces, { name: 'short-lived' }), { timeout: 60_000 })
    .toBeUndefined();
  client.close();
  const lines = readFileSync(plane.auditLogPath ?? '', 'utf8')
    .trim()
    .split('\n');
  const ours = lines
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.user.username === 'rollcall-admin');
  expect(ours.map((entry) => `${entry.verb} ${entry.objectRef.name}`)).toEqual([
    'create short-lived',
    'delete short-lived',
  ]);
});

test('a second start is the same cluster at the same address, and keys are private', async () => {
  const first = await start();
  const uid = await uidOfCluster(first);
  await first.stop();
  await using second = await start();
  expect(second.access.server).toBe(first.access.server);
  expect(second.clusterCaPem).toBe(first.clusterCaPem);
  expect(await uidOfCluster(second)).toBe(uid);
  expect(loadKubeAccess({ path: second.adminKubeconfigPath })).toMatchObject({
    server: second.access.server,
  });
  const files = readdirSync(join(stateDir, 'hub', 'pki')).map((name) => join(stateDir, 'hub', 'pki', name));
  expect(files.filter((file) => (statSync(file).mode & 0o077) !== 0)).toEqual([]);
});

test('two control planes share one etcd and are two clusters', async () => {
  await using hub = await start({ withControllerManager: false });
  await using member = await start({
    stateDir: join(stateDir, 'member'),
    withControllerManager: false,
    sharedEtcd: { endpoint: hub.etcdEndpoint, prefix: '/member' },
  });
  expect(await uidOfCluster(member)).not.toBe(await uidOfCluster(hub));
  expect(Object.keys(member.pids())).toEqual(['kube-apiserver']);
});

test('a server that ends by itself is reported; a taken port is named', async () => {
  const ended = Promise.withResolvers<string>();
  const plane = await start({
    withControllerManager: false,
    onUnexpectedExit: (child, how) => ended.resolve(`${child.name}: ${how}`),
  });
  process.kill(plane.pids().etcd ?? 0, 'SIGKILL');
  expect(await ended.promise).toBe('etcd: SIGKILL');
  await plane.stop();

  const { port } = new URL(plane.access.server);
  const other = createServer().listen(Number(port), '127.0.0.1');
  await once(other, 'listening');
  await expect(start()).rejects.toMatchObject({ code: 'PORT_BUSY', message: expect.stringContaining(port) });
  other.close();
});

test('what cannot start says why, and leaves nothing running', async () => {
  const broken = join(stateDir, 'broken');
  const plane = start({ stateDir: broken, sharedEtcd: brokenEtcd, withControllerManager: false });
  await expect(plane).rejects.toMatchObject({ code: 'CHILD_FAILED' });
  expect(readdirSync(join(broken, 'run'))).toEqual([]);
});

const brokenEtcd = {
  endpoint: {
    url: 'https://127.0.0.1:1',
    caPath: '/nowhere',
    client: { certPath: '/nowhere', keyPath: '/nowhere' },
  },
  prefix: '/x',
};

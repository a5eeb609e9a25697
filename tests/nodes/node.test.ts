import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeCluster, startNodeCluster, tellPodsWhenFailed } from './node-cluster.ts';

describe.skipIf(inject('nodes').whyNot)('a node', () => {
  let cluster: NodeCluster;
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-node-'));
  tellPodsWhenFailed(() => cluster);
  beforeAll(async () => {
    cluster = await startNodeCluster(1);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Installs a hub. @returns what a person reads, and the exit code */
  async function install(values: object, timeout: string): Promise<{ code: number | null; stderr: string }> {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, JSON.stringify(values));
    const flags = [
      '--values',
      file,
      '--keys',
      join(folder, 'keys'),
      '--advertise',
      `${cluster.address}:31422`,
    ];
    return cluster.rollcall('install', 'hub', ...flags, '--timeout', timeout);
  }

  test('a StorageClass that is not there is refused before anything is applied', async () => {
    const { code, stderr } = await install({ nats: { storageClassName: 'fast' } }, '15s');
    expect([code, stderr]).toEqual([1, expect.stringContaining('there is no StorageClass at all')]);
    expect(await cluster.kubectl('get', 'namespaces', '--output', 'name')).not.toContain('rollcall-system');
  });

  test('what keeps a hub from running is told while it is waited for, and the same command goes on once it is mended', async () => {
    const values = { nats: { serviceType: 'NodePort', nodePort: 31_422 } };
    const { stderr: withoutVolume } = await install(values, '15s');
    expect(withoutVolume).toContain(
      '[ready] PersistentVolumeClaim data-rollcall-nats-0: FailedBinding: no persistent volumes',
    );
    const inHub = ['--namespace', 'rollcall-system'] as const;
    await cluster.kubectl(...inHub, 'create', 'quota', 'none', '--hard=pods=0');
    await cluster.kubectl(...inHub, 'delete', 'pod', 'rollcall-nats-0');
    const { stderr: withoutRight } = await install(values, '15s');
    expect(withoutRight).toContain('[ready] StatefulSet rollcall-nats: FailedCreate:');
    expect(withoutRight).toContain('exceeded quota');
    await cluster.kubectl(...inHub, 'delete', 'quota', 'none');
    await cluster.makeVolumes(1);
    const mended = await install(values, '4m');
    expect(mended.code, mended.stderr).toBe(0);
  });

  test('pods run, and find each other by name', async () => {
    const serve = 'echo hello > /tmp/index.html; exec busybox httpd -f -p 8080 -h /tmp';
    await cluster.kubectl('create', 'deployment', 'web', '--image=busybox:1.35', '--', 'sh', '-c', serve);
    await cluster.kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080');
    await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=120s');
    const ask = [
      'run',
      'ask',
      '--image=busybox:1.35',
      '--restart=Never',
      '--rm',
      '--attach',
      '--quiet',
      '--',
    ];
    // kubectl prints it twice where the pod has ended before it is attached to.
    expect(await cluster.kubectl(...ask, 'wget', '-qO-', 'http://web.default.svc.cluster.local/')).toContain(
      'hello',
    );
  });
});

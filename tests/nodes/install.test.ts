import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { stringify } from 'yaml';
import { pods } from '../../cli/install/workloads.ts';
import { helm } from '../charts/helm.ts';
import { conditionOf, until } from '../harness/embedded.ts';
import { type NodeCluster, startNodeCluster } from './node-cluster.ts';

/** Where agents reach the hub: a port of its node. */
const nodePort = 31_422;
const charts = join(import.meta.dirname, '..', '..', 'deploy', 'charts');

const restartsIn = async (client: KubeClient, namespace: string): Promise<number> => {
  type Pod = KubeObject<unknown, { containerStatuses?: readonly { restartCount: number }[] }>;
  const found = await client.list<Pod>(pods, { namespace });
  return found
    .flatMap(({ status }) => status?.containerStatuses ?? [])
    .reduce((sum, one) => sum + one.restartCount, 0);
};

describe.skipIf(inject('nodes').whyNot)('a hub on a node, and members that it can only hear of', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-nodes-test-'));
  let hub: NodeCluster;
  let member: NodeCluster;
  beforeAll(async () => {
    hub = await startNodeCluster(1);
    member = await startNodeCluster(2);
    await hub.makeVolumes(1);
  });
  afterAll(async () => {
    for (const cluster of [member, hub]) await cluster?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const clusterOf = (name: string) => hub.admin.get<ManagedCluster>(resources.managedClusters, { name });
  const untilReadiness = (name: string, status: string) =>
    until(
      `cluster ${name} has Ready=${status}`,
      async () => {
        const found = await clusterOf(name);
        return conditionOf(found, 'Ready')?.status === status && found;
      },
      { withinMs: 120_000 },
    );
  const valuesFile = (name: string, values: object | string) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, typeof values === 'string' ? values : stringify(values), { mode: 0o600 });
    return file;
  };

  test('one command makes both run in one cluster, and no pod is started twice', async () => {
    const values = valuesFile('hub', { nats: { serviceType: 'NodePort', nodePort } });
    const where = ['--advertise', `${hub.address}:${nodePort}`, '--hub-values', values];
    const installed = await hub.rollcall('install', 'all-in-one', ...where, '--keys', join(folder, 'keys'));
    expect(installed.code, installed.stderr).toBe(0);
    expect(installed.stdout).toContain('cluster "local" is Ready on its own hub');
    expect(await restartsIn(hub.admin, 'rollcall-system')).toBe(0);
    expect(await restartsIn(hub.admin, 'rollcall-agent')).toBe(0);
  });

  test('a member elsewhere comes by Helm and a published token', async () => {
    const made = await hub.rollcall(
      'token',
      'create',
      '--publish',
      '--name',
      'edge',
      '--cluster-name',
      'edge',
      '--wait',
    );
    expect(made.code, made.stderr).toBe(0);
    const encoded = await hub.kubectl(
      '-n',
      'rollcall-join',
      'get',
      'secret',
      'edge',
      '-o',
      'jsonpath={.data.values}',
    );
    const values = valuesFile('edge', Buffer.from(encoded, 'base64').toString('utf8'));
    const into = ['--namespace', 'rollcall-agent', '--create-namespace', '--values', values, '--wait'];
    const installed = await helm(['install', 'agent', join(charts, 'agent'), ...into], member.kubeconfig);
    expect(installed.code, installed.stderr).toBe(0);
    const approved = await hub.rollcall('approve', 'edge');
    expect(approved.code, approved.stderr).toBe(0);
    await untilReadiness('edge', 'True');
  });

  test('a member whose node loses its power is Unreachable, and Ready again when the node is back', async () => {
    await member.crash();
    await untilReadiness('edge', 'Unknown');
    expect(conditionOf(await clusterOf('local'), 'Ready')?.status).toBe('True');
    await member.start();
    await untilReadiness('edge', 'True');
  });
});

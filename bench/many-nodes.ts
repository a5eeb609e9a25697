/**
 * What a member of many nodes costs its agent: `node bench/many-nodes.ts [NODES] [SECONDS]`. The same agent (compiled, a process of its
 * own) for a member without nodes, then for one of so many, of 15 kB each; then their kubelets report, as they do every five minutes
 * where nothing changes, and at last nodes do change.
 */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { makeToken } from '../cli/token/make-token.ts';
import { inParallel } from '../cli/simulate/in-parallel.ts';
import { cpuMs, residentBytes } from '../cli/simulate/process-usage.ts';
import { agentProgram } from './agent-program.ts';
import { nowMs } from './clock.ts';
import type { HubReport } from './hub-process.ts';
import { type BenchAgent, startBenchAgent } from './start-agent.ts';
import { openBenchClient, startBenchHub } from './start-hub.ts';
import { mebibytes } from './table-row.ts';

const count = Number(process.argv[2] ?? 5000);
const seconds = Number(process.argv[3] ?? 30);
const kubeletIntervalMs = 300_000;
const shownWithinMs = 120_000;
const atOnce = 16;
const say = (message: string) => process.stderr.write(`[nodes] ${message}\n`);

const nameOf = (index: number) => `node-${String(index).padStart(6, '0')}`;

/** As large as one of a cloud provider: most of it is the list of images. Memory differs a little from machine to machine. */
function aNode(index: number): KubeObject {
  const name = nameOf(index);
  const memory = `${16_374_400 + (index % 64) * 4}Ki`;
  const images = Array.from({ length: 50 }, (_, image) => ({
    names: [
      `registry.example.org/team-${image}/service-${image}@sha256:${String(image).padStart(64, '0')}`,
      `registry.example.org/team-${image}/service-${image}:v1.${image}.0`,
    ],
    sizeBytes: 100_000_000 + image,
  }));
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
    type,
    status: type === 'Ready' ? 'True' : 'False',
    reason: 'KubeletIsFine',
    message: 'the kubelet says that all is well',
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
  }));
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'node.kubernetes.io/instance-type': `m${index % 4}.large`,
    'topology.kubernetes.io/region': 'eu-1',
    'topology.kubernetes.io/zone': `eu-1${'abc'[index % 3]}`,
    'example.org/pool': `pool-${index % 8}`,
    'example.org/machine': `machine-${index}`,
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: {
      podCIDRs: [`10.${index >> 8}.${index & 255}.0/24`],
      providerID: `example:///eu-1/${name}`,
    },
    status: {
      capacity: { cpu: '4', memory, pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '3920m', memory, pods: '110', 'ephemeral-storage': '90Gi' },
      conditions,
      images,
    },
  } as KubeObject;
}

/** What every node's kubelet says again, spread over five minutes. */
async function reportForAWhile(member: KubeClient): Promise<void> {
  const endMs = nowMs() + seconds * 1000;
  const pauseMs = kubeletIntervalMs / count;
  for (let index = 0; nowMs() < endMs; index = (index + 1) % count) {
    const lastHeartbeatTime = new Date().toISOString();
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'KubeletIsFine', message: '', lastHeartbeatTime },
    ];
    await Promise.all([
      member.mergePatch(
        resources.nodes,
        nameOf(index),
        { status: { conditions } },
        { subresource: 'status' },
      ),
      delay(pauseMs),
    ]);
  }
}

async function untilShown(admin: KubeClient, name: string, nodes: Record<string, number>): Promise<void> {
  const deadlineMs = nowMs() + shownWithinMs;
  for (; nowMs() < deadlineMs; await delay(100)) {
    const shown = (await admin.get<ManagedCluster>(resources.managedClusters, { name }))?.status?.nodes ?? {};
    if (
      Object.entries(nodes).every(([field, number]) =>
        Object.entries(shown).some(([key, value]) => key === field && value === number),
      )
    )
      return;
  }
  throw new RollcallError(
    'DEADLINE_EXCEEDED',
    `"${name}" is not shown with ${JSON.stringify(nodes)} in time`,
  );
}

/** VmHWM: the most that it ever had in memory. */
function peakBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

function tell(what: string, { pid }: BenchAgent): void {
  process.stdout.write(
    `${what}: resident ${mebibytes(residentBytes(pid) ?? Number.NaN)}, at most ${mebibytes(peakBytes(pid))}, CPU ${cpuMs(pid)} ms since its start\n`,
  );
}

async function startAgent(hub: HubReport, admin: KubeClient, cluster: string): Promise<BenchAgent> {
  const { member } = hub;
  if (!member) throw new RollcallError('UNEXPECTED', 'the member has no API server');
  const token = await makeToken(admin, { hubId: hub.hubId, name: cluster, uses: 1 });
  return startBenchAgent([agentProgram('compiled')], join(hub.baseDir, 'agents', cluster), {
    hub: hub.addresses,
    trust: { pins: [hub.caCertHash] },
    token,
    member,
    clientId: cluster,
    clusterName: cluster,
  });
}

const settlingMs = 15_000;
say('starting a hub, and an API server for the member');
await using hub = await startBenchHub({ audit: 'none', withMember: true });
const { report } = hub;
const admin = openBenchClient(report.admin);
const member = openBenchClient(report.member ?? report.admin);
{
  await using agent = await startAgent(report, admin, 'without-nodes');
  await untilShown(admin, 'without-nodes', { total: 0 });
  await delay(settlingMs);
  tell('no nodes', agent);
}
say(`making ${count} nodes of ${JSON.stringify(aNode(0)).length} bytes`);
await inParallel([...Array(count).keys()], atOnce, (index) => member.create(resources.nodes, aNode(index)));
{
  const startedAtMs = nowMs();
  await using agent = await startAgent(report, admin, 'with-nodes');
  await untilShown(admin, 'with-nodes', { total: count, ready: count });
  process.stdout.write(
    `start → ${count} nodes shown on the hub: ${((nowMs() - startedAtMs) / 1000).toFixed(1)} s\n`,
  );
  await delay(settlingMs);
  tell(`${count} nodes`, agent);
  const before = cpuMs(agent.pid) ?? 0;
  say(`kubelets report for ${seconds} s, and nothing changes`);
  await reportForAWhile(member);
  const share = ((cpuMs(agent.pid) ?? 0) - before) / (seconds * 10);
  tell(`kubelets report (${share.toFixed(2)} % of a core)`, agent);
  const changed = Math.min(count, 200);
  say(`${changed} nodes are cordoned`);
  await inParallel([...Array(changed).keys()], atOnce, (index) =>
    member.mergePatch(resources.nodes, nameOf(index), { spec: { unschedulable: true } }),
  );
  const changedAtMs = nowMs();
  await untilShown(admin, 'with-nodes', { schedulable: count - changed });
  process.stdout.write(`last change → shown on the hub: ${((nowMs() - changedAtMs) / 1000).toFixed(1)} s\n`);
  tell(`${changed} nodes changed`, agent);
}
process.stdout.write(`load ${loadavg()[0]?.toFixed(1)}\n`);
admin.close();
member.close();

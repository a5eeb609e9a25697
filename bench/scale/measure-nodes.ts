import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import { cpuMs, peakBytes, residentBytes } from '../../cli/simulate/report/process-usage.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { until } from '../../tests/harness/embedded.ts';
import { agentProgram } from '../hub/agent-program.ts';
import { nowMs } from '../report/clock.ts';
import { madeUpNode, nodeName } from '../joins/made-up-node.ts';
import { type BenchAgent, startBenchAgent } from '../hub/start-agent.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';

interface Footprint {
  readonly residentBytes: number;
  /** The most that it ever had. */
  readonly peakBytes: number;
}

/** What a member of many nodes costs its agent: the same one for a member without nodes, then for one of so many. */
export interface NodesResult {
  readonly nodes: number;
  readonly nodeBytes: number;
  readonly without: Footprint;
  /** A quarter of a minute after all were listed. */
  readonly listed: Footprint;
  /** While every kubelet reports each five minutes and nothing changes. */
  readonly reporting: Footprint & { readonly cpuPercent: number; readonly seconds: number };
  /** After some were cordoned. */
  readonly changed: Footprint & { readonly nodes: number };
  readonly startToShownMs: number;
  readonly lastChangeToShownMs: number;
}

const kubeletIntervalMs = 300_000;
const shownWithin = { withinMs: 120_000, everyMs: 100 };
const settlingMs = 15_000;
const mostChanged = 200;
const atOnce = 16;

function footprint({ pid }: BenchAgent): Footprint {
  return { residentBytes: residentBytes(pid) ?? Number.NaN, peakBytes: peakBytes(pid) ?? Number.NaN };
}

/** What every node's kubelet says again, spread over five minutes. */
async function reportForAWhile(member: KubeClient, count: number, seconds: number): Promise<void> {
  const endMs = nowMs() + seconds * 1000;
  const pauseMs = kubeletIntervalMs / count;
  for (let index = 0; nowMs() < endMs; index = (index + 1) % count) {
    const lastHeartbeatTime = new Date().toISOString();
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'KubeletIsFine', message: '', lastHeartbeatTime },
    ];
    const patch = { status: { conditions } };
    await Promise.all([
      member.mergePatch(resources.nodes, nodeName(index), patch, { subresource: 'status' }),
      delay(pauseMs),
    ]);
  }
}

async function untilShown(
  admin: KubeClient,
  name: string,
  wanted: Partial<Record<'total' | 'ready' | 'schedulable', number>>,
): Promise<number> {
  const ask = async () => {
    const found = await admin.get<ManagedCluster>(resources.managedClusters, { name });
    const shown = Object.entries(found?.status?.nodes ?? {});
    const isShown = Object.entries(wanted).every(([field, number]) =>
      shown.some(([key, value]) => key === field && value === number),
    );
    return isShown && nowMs();
  };
  return until(`"${name}" is shown with ${JSON.stringify(wanted)}`, ask, shownWithin);
}

/** @param options.seconds - how long kubelets report */
export async function measureNodes(
  { count, seconds }: { count: number; seconds: number },
  say: (message: string) => void,
): Promise<NodesResult> {
  say('starting a hub, and an API server for the member');
  await using hub = await startBenchHub({ audit: 'none', withMember: true });
  const { report } = hub;
  if (!report.member) throw new RollcallError('UNEXPECTED', 'the member has no API server');
  const access = report.member;
  const admin = openBenchClient(report.admin);
  const member = openBenchClient(access);
  const all = Array.from({ length: count }, (_, index) => index);

  async function startAgent(cluster: string): Promise<BenchAgent> {
    const token = await makeToken(admin, { hubId: report.hubId, name: cluster, uses: 1 });
    return startBenchAgent(report, { cluster, token, member: access, program: [agentProgram('compiled')] });
  }

  async function withoutNodes(): Promise<Footprint> {
    await using agent = await startAgent('without-nodes');
    await untilShown(admin, 'without-nodes', { total: 0 });
    await delay(settlingMs);
    return footprint(agent);
  }

  async function withNodes() {
    const cluster = 'with-nodes';
    const startedAtMs = nowMs();
    await using agent = await startAgent(cluster);
    const shownAtMs = await untilShown(admin, cluster, { total: count, ready: count });
    await delay(settlingMs);
    const listed = footprint(agent);
    say(`kubelets report for ${seconds} s, and nothing changes`);
    const before = cpuMs(agent.pid) ?? 0;
    await reportForAWhile(member, count, seconds);
    const cpuPercent = ((cpuMs(agent.pid) ?? 0) - before) / (seconds * 10);
    const reporting = { ...footprint(agent), cpuPercent, seconds };
    const changed = Math.min(count, mostChanged);
    say(`${changed} nodes are cordoned`);
    await inParallel(all.slice(0, changed), atOnce, (index) =>
      member.mergePatch(resources.nodes, nodeName(index), { spec: { unschedulable: true } }),
    );
    const changedAtMs = nowMs();
    const lastShownAtMs = await untilShown(admin, cluster, { schedulable: count - changed });
    return {
      listed,
      reporting,
      changed: { ...footprint(agent), nodes: changed },
      startToShownMs: shownAtMs - startedAtMs,
      lastChangeToShownMs: lastShownAtMs - changedAtMs,
    };
  }

  try {
    const without = await withoutNodes();
    const nodeBytes = JSON.stringify(madeUpNode(0)).length;
    say(`making ${count} nodes of ${nodeBytes} bytes`);
    await inParallel(all, atOnce, (index) => member.create(resources.nodes, madeUpNode(index)));
    return { nodes: count, nodeBytes, without, ...(await withNodes()) };
  } finally {
    admin.close();
    member.close();
  }
}

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { NatsConnection } from '@nats-io/transport-node';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { streamSize } from '@rollcall/shared/bus';
import {
  type KubeAccess,
  type KubeClient,
  kubeconfigYaml,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { type ApprovalPolicy, labels, type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { makeToken } from '../../cli/token/make-token.ts';
import { askServices } from '../../cli/status/ask-services.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { waitForObject } from '../../cli/wait-for-object.ts';
import { until } from '../../tests/harness/embedded.ts';
import { everythingIn } from '../../tests/harness/everything.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { nowMs } from '../report/clock.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { type ClusterWatch, watchClusters } from '../hub/cluster-watch.ts';
import { inTime } from '../hub/in-time.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import type { AgentLine } from '../hub/start-agent.ts';
import { joinTimeline } from '../joins/join-timeline.ts';
import type { Join } from '../joins/measure-joins.ts';
import { readEvents } from '../hub/read-events.ts';
import { openMachineWindow, usedCores } from '../report/usage-window.ts';
import { startLeavers } from './start-leavers.ts';

/** Clusters that leave all at once, and what is there of them afterwards. */
export interface LeavingResult {
  readonly count: number;
  /** Others that join one after the other, from the start of the agent to Ready, before anybody leaves. */
  readonly idleJoinMs: Spread;
  /** The same from the first deletion on, or from when they ask to leave. */
  readonly joinMs: Spread;
  /** The same once all have been told to leave, or have asked: most of them wait for it. */
  readonly waitingJoinMs: Spread;
  /** Cores that each process used during these joins, and everybody else; `leavers` are the agents of those who leave. */
  readonly idleCores: Readonly<Record<string, number>>;
  readonly cores: Readonly<Record<string, number>>;
  readonly waitingCores: Readonly<Record<string, number>>;
  /** How many were still there when the last of the others was Ready. */
  readonly stillThere: number;
  /** Absent where only the joins beside were measured. */
  readonly end?: LeavingEnd;
}

/** How it ends. */
export interface LeavingEnd {
  /** From the first deletion until the last object is gone. */
  readonly goneMs: number;
  /** Until Kubernetes has done away with the last of their namespaces. */
  readonly namespacesGoneMs: number;
  /** How much was there of them before: objects by kind, facts, entries of the heartbeat service. */
  readonly there: Readonly<Record<string, number>>;
  /** And afterwards, where it is not none. */
  readonly leftBehind: Readonly<Record<string, number>>;
}

/** Each look lists everything, on the same cores. */
const patience = { withinMs: 1_800_000, everyMs: 500 };
/** Joins beside, begun at this pace whatever became of those before: with 100 of them a p99 is one of the values. */
const joinsBeside = 100;
const joinEveryMs = 250;
/** Facts end by themselves a second after they are forgotten, and sets are counted every ten. */
const settlingMs = 20_000;

/** Everything that a hub keeps but history, by kind; a name is kept in history alone, and says there that it is free. */
async function countAll(admin: KubeClient, ops: NatsConnection): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const object of await everythingIn(admin)) {
    const [kind = ''] = object.split(' ');
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  counts['facts on the bus'] = (await streamSize(ops, 'FACTS'))?.messages ?? Number.NaN;
  counts['dead letters'] = (await streamSize(ops, 'DEAD'))?.messages ?? Number.NaN;
  const heartbeat = (await askServices(ops)).filter(({ name }) => name === 'heartbeat');
  const entries = heartbeat.flatMap(({ figures }) =>
    Object.entries(figures).flatMap(([name, figure]) => (name.startsWith('clusters') ? [figure] : [])),
  );
  counts['entries of the heartbeat service'] = entries.reduce((sum, one) => sum + one, 0);
  return counts;
}

function moreThan(before: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>) {
  const more = Object.entries(now).map(([what, count]) => [what, count - (before[what] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, count]) => count !== 0));
}

/** So that there is more to take away: ServiceAccount and RoleBinding. */
async function giveAccess(admin: KubeClient): Promise<void> {
  const resource = resources.approvalPolicies;
  for (const { metadata, spec } of await admin.list<ApprovalPolicy>(resource)) {
    const { name } = metadata;
    const rules = spec.rules.map((rule) => ({ ...rule, access: 'Namespace' }));
    const { metadata: changed } = await admin.mergePatch<KubeObject>(resource, name, { spec: { rules } });
    await waitForObject<ApprovalPolicy>(
      admin,
      { resource, name, timeoutMs: 10_000 },
      ({ status }) => status?.observedGeneration === changed.generation,
    );
  }
}

const leavesLabel = { leaves: 'yes' } as const;

/** As a person does it who does not wait; kubectl sends as many requests a second as it is made to. */
async function deleteByKubectl(access: KubeAccess, folder: string): Promise<void> {
  const kubeconfig = join(folder, 'admin.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(access), { mode: 0o600 });
  const selector = Object.entries(leavesLabel).map(([key, value]) => `${key}=${value}`);
  const what = ['managedclusters.rollcall.dev', '--selector', selector.join(','), '--wait=false'];
  await promisify(execFile)(findBinary('kubectl'), ['--kubeconfig', kubeconfig, 'delete', ...what], {
    maxBuffer: 16 * 1024 * 1024,
  });
}

/** One after the other, without waiting for the end of any. */
async function deleteAll(admin: KubeClient, names: readonly string[]): Promise<void> {
  for (const name of names) await admin.delete(resources.managedClusters, name);
}

async function areAllReady(admin: KubeClient, count: number): Promise<boolean> {
  const clusters = await admin.list<ManagedCluster>(resources.managedClusters);
  const ready = clusters.filter(({ status }) =>
    status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
  );
  return ready.length === count;
}

type TracedJoin = Pick<Join, 'cluster' | 'startedAtMs' | 'agentLines'>;

interface Pace {
  readonly watch: ClusterWatch;
  readonly start: (name: string) => SimulatedAgent;
  readonly say: (message: string) => void;
  /** Says what happened when in this join. */
  readonly tell?: ((join: TracedJoin) => Promise<void>) | undefined;
}

/** Starts agents at a steady pace, and says which were slowest. @returns from the start of each to Ready */
async function joinsAtPace(names: readonly string[], { watch, start, say, tell }: Pace) {
  const joins = names.map(async (cluster, at) => {
    const beganMs = at * joinEveryMs;
    await delay(beganMs);
    const startedAtMs = nowMs();
    const agentLines: AgentLine[] = [];
    void start(cluster).admitted.then(() =>
      agentLines.push({ step: 'admitted', message: 'is a member', atMs: nowMs() }),
    );
    return { cluster, startedAtMs, agentLines, beganMs, ms: (await watch.whenReady(cluster)) - startedAtMs };
  });
  const all = await inTime(`${names.length} others are Ready`, Promise.all(joins), patience.withinMs);
  const slowest = all.toSorted((one, other) => other.ms - one.ms).slice(0, 5);
  say(
    `the slowest: ${slowest.map(({ ms, beganMs }) => `${ms.toFixed()} ms (begun at ${beganMs / 1000} s)`).join(', ')}`,
  );
  for (const slow of slowest) await tell?.(slow);
  return spreadOf(all.map(({ ms }) => ms));
}

interface LeavingOptions {
  /** False: only the joins beside are measured, for more clusters than one waits for. */
  readonly toTheEnd: boolean;
  /** Whether their agents ask to leave; else a person deletes them, which alone takes the API server 7 ms of CPU and etcd 2. */
  readonly byThemselves: boolean;
  /** Whether it says what happened when in the slowest joins. */
  readonly trace: boolean;
  readonly say: (message: string) => void;
}

export async function measureLeaving(
  count: number,
  { toTheEnd, byThemselves, trace, say }: LeavingOptions,
): Promise<LeavingResult> {
  await using hub = await startBenchHub({
    audit: 'none',
    withMember: false,
    // So many in a minute would be held until a person confirms them.
    settings: { approver: { bulkPerMinute: '100000', bulkShare: '1' } },
  });
  const { report } = hub;
  const admin = openBenchClient(report.admin);
  const ops = await connectAsInspector(report.stateDir, { servers: report.addresses, caPem: report.caPem });
  const watch = await watchClusters(admin);
  const agents: SimulatedAgent[] = [];
  await using stack = new AsyncDisposableStack();
  const clusters = clusterNames('leaver', count);
  try {
    await giveAccess(admin);
    const before = await countAll(admin, ops);
    const { hubId, caPem } = report;
    const token = await makeToken(admin, {
      hubId,
      name: 'leavers',
      uses: count,
      terms: { labels: leavesLabel },
    });
    // Of their own: a token lets 10,000 in within a day.
    const othersToken = await makeToken(admin, { hubId, name: 'others', uses: 3 * joinsBeside });
    say(`${count} clusters join`);
    const leavers = stack.use(await startLeavers({ hub: report.addresses, caPem, token, clusters }));
    await until('all are Ready', () => areAllReady(admin, count), patience);
    const there = moreThan(before, await countAll(admin, ops));
    say(`${joinsBeside} others join, and nobody leaves`);
    const others = (name: string) => clusterNames(name, joinsBeside);
    function start(cluster: string): SimulatedAgent {
      const access = { hub: report.addresses, caPem, token: othersToken };
      const agent = startSimulatedAgent({ ...access, cluster, onTrouble: say });
      agents.push(agent);
      return agent;
    }
    async function tell(slow: TracedJoin): Promise<void> {
      const events = await readEvents(report, `cluster.${slow.cluster}.*`);
      say(`\n${joinTimeline(slow, { events, writes: [], sightings: watch.sightings })}`);
    }
    const pids = { ...report.pids, leavers: leavers.pid, 'agents that join': process.pid };
    async function othersJoin(name: string) {
      const end = openMachineWindow(pids);
      const joinMs = await joinsAtPace(others(name), { watch, say, start, tell: trace ? tell : undefined });
      return { joinMs, cores: usedCores(end()) };
    }
    const idle = await othersJoin('idle');

    say(`${count} clusters leave at once`);
    const fromMs = nowMs();
    const asking = byThemselves ? leavers.leave() : deleteByKubectl(report.admin, report.baseDir);
    // Awaited below; until then a failure must not count as unhandled.
    asking.catch(() => undefined);
    const beside = await othersJoin('beside');
    await asking;
    say(`all of them are told, ${joinsBeside} others join, and they wait`);
    const waiting = await othersJoin('waiting');
    const leaving = new Set(clusters);
    const howManyAreThere = async () =>
      (await admin.list(resources.managedClusters)).filter(({ metadata }) => leaving.has(metadata.name))
        .length;
    const stillThere = await howManyAreThere();
    const found = {
      count,
      idleJoinMs: idle.joinMs,
      joinMs: beside.joinMs,
      waitingJoinMs: waiting.joinMs,
      idleCores: idle.cores,
      cores: beside.cores,
      waitingCores: waiting.cores,
      stillThere,
    };
    if (!toTheEnd) return found;
    const areGone = async () => (await howManyAreThere()) === 0 && nowMs();
    const goneAtMs = await until('all are gone', areGone, patience);
    const ours = { labelSelector: labels.clusterId };
    const areLeft = (left: number) => async () =>
      (await admin.list(resources.namespaces, ours)).length === left && nowMs();
    const emptyAtMs = await until('their namespaces are gone', areLeft(3 * joinsBeside), patience);
    await deleteAll(admin, [...others('idle'), ...others('beside'), ...others('waiting')]);
    await until('the namespaces of the others are gone', areLeft(0), patience);
    for (const name of ['leavers', 'others'])
      await admin.delete(resources.clusterRegistrationTokens, name, { namespace: namespaces.join });
    await delay(settlingMs);
    const leftBehind = moreThan(before, await countAll(admin, ops));
    return {
      ...found,
      end: { goneMs: goneAtMs - fromMs, namespacesGoneMs: emptyAtMs - fromMs, there, leftBehind },
    };
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await ops.close();
    await watch.stop();
    admin.close();
  }
}

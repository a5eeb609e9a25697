import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import {
  apiVersionOf,
  type KubeAccess,
  type KubeClient,
  kubeconfigYaml,
  type KubeObject,
  resources,
  watchResource,
} from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { kubeconfigSecretOf } from '../../cli/join/hub-objects.ts';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import { residentBytes } from '../../cli/simulate/report/process-usage.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { agentProgram, compiledProgram } from '../hub/agent-program.ts';
import { readAuditWrites } from '../report/audit-writes.ts';
import { nowMs } from '../report/clock.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { type ClusterWatch, watchClusters } from '../hub/cluster-watch.ts';
import { countJoinWrites, type JoinWrites } from '../report/count-writes.ts';
import type { HubReport } from '../hub/hub-process.ts';
import { inTime } from '../hub/in-time.ts';
import { startBenchAgent } from '../hub/start-agent.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { openUsageWindow, usedCores } from '../report/usage-window.ts';

/** Clusters that the hub reaches by itself. */
export interface HostedResult {
  readonly count: number;
  /** Mode Push: from the making of the cluster until it is Ready. */
  readonly pushReadyMs: Spread;
  readonly pushWrites: JoinWrites;
  /** Mode Pull: until the agent's Deployment is in the member, and until the process that it asks for has made it Ready. */
  readonly pullInstalledMs: Spread;
  readonly pullReadyMs: Spread;
  /** One agent host that is the agent of many members. */
  readonly probes: {
    readonly members: number;
    readonly allReadyMs: number;
    /** Of the agent host, before it had any and once all are Ready. */
    readonly residentBefore: number;
    readonly residentBytes: number;
    readonly seconds: number;
    /** While they are only probed. */
    readonly usedCores: Readonly<Record<string, number>>;
  };
}

interface Stage {
  readonly report: HubReport;
  readonly member: KubeAccess;
  readonly admin: KubeClient;
  readonly watch: ClusterWatch;
}

const warmUps = 2;
const pauseMs = 1500;
/** What the last joins led to is written within it. */
const settlingMs = 15_000;
const probedSeconds = 60;
const declaredAtOnce = 16;
const allReadyWithinMs = 1_200_000;

/** What a person lays down beforehand: a token that names the cluster, and a kubeconfig beside it. @returns the token */
async function layDown({ report, member, admin }: Stage, cluster: string): Promise<string> {
  const token = await makeToken(admin, {
    hubId: report.hubId,
    name: cluster,
    uses: 1,
    terms: { clusterName: cluster },
  });
  const stringData = {
    value: kubeconfigYaml(member),
    token,
    hub: report.addresses.join(','),
    caBundle: report.caPem,
  };
  const metadata = { name: kubeconfigSecretOf(cluster), namespace: namespaces.kubeconfigs };
  await admin.create(resources.secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    stringData,
  } as KubeObject);
  return token;
}

/** @returns when */
async function make({ admin }: Stage, cluster: string, mode: 'Push' | 'Pull'): Promise<number> {
  const fromMs = nowMs();
  await admin.create(resources.managedClusters, {
    apiVersion: apiVersionOf(resources.managedClusters),
    kind: resources.managedClusters.kind,
    metadata: { name: cluster },
    spec: { clientId: cluster, mode, kubeconfigSecret: kubeconfigSecretOf(cluster) },
  } as KubeObject);
  return fromMs;
}

async function push(stage: Stage, cluster: string): Promise<number> {
  await layDown(stage, cluster);
  const fromMs = await make(stage, cluster, 'Push');
  const readyAtMs = await inTime(`"${cluster}" is Ready`, stage.watch.whenReady(cluster));
  await delay(pauseMs);
  return readyAtMs - fromMs;
}

/** Resolves when the next Deployment of an agent is made in the member. */
async function nextDeployment(client: KubeClient): Promise<{ made: Promise<number>; stop(): Promise<void> }> {
  const ending = new AbortController();
  const made = Promise.withResolvers<number>();
  const synced = Promise.withResolvers<void>();
  const watching = watchResource(client, resources.deployments, {
    namespace: 'rollcall-agent',
    signal: ending.signal,
    onSynced: () => synced.resolve(),
    onEvent: ({ kind }) => {
      if (kind === 'added') made.resolve(nowMs());
    },
  });
  await synced.promise;
  return {
    made: made.promise,
    async stop() {
      ending.abort();
      await watching;
    },
  };
}

/** Nothing runs pods there, so the bench starts what a pod would run; no image is pulled. */
async function pull(
  stage: Stage,
  { cluster, memberClient }: { cluster: string; memberClient: KubeClient },
): Promise<{ installedMs: number; readyMs: number }> {
  const { report, member, watch } = stage;
  const token = await layDown(stage, cluster);
  const deployment = await nextDeployment(memberClient);
  try {
    const fromMs = await make(stage, cluster, 'Pull');
    const installedAtMs = await inTime(`"${cluster}" has a Deployment`, deployment.made);
    await using agent = startBenchAgent(report, {
      cluster,
      token,
      member,
      program: [agentProgram('compiled')],
      trust: { caPem: report.caPem },
    });
    const ready = inTime(`"${cluster}" is Ready`, watch.whenReady(cluster));
    const readyAtMs = await Promise.race([ready, agent.broken]);
    await delay(pauseMs);
    return { installedMs: installedAtMs - fromMs, readyMs: readyAtMs - fromMs };
  } finally {
    await deployment.stop();
    await memberClient.delete(resources.deployments, 'rollcall-agent', { namespace: 'rollcall-agent' });
  }
}

async function probe(
  stage: Stage,
  { members, say }: { members: number; say: (message: string) => void },
): Promise<HostedResult['probes']> {
  const { report, watch } = stage;
  const host = report.pids['agent-host'] ?? 0;
  const clusters = clusterNames('probed', members);
  say(`laying down kubeconfigs and tokens of ${members} members`);
  await inParallel(clusters, declaredAtOnce, (cluster) => layDown(stage, cluster));
  const residentBefore = residentBytes(host) ?? Number.NaN;
  say(`${members} members are made`);
  const fromMs = nowMs();
  await inParallel(clusters, declaredAtOnce, (cluster) => make(stage, cluster, 'Push'));
  const readyAtMs = await inTime(
    `all of ${members} members are Ready`,
    Promise.all(clusters.map((cluster) => watch.whenReady(cluster))),
    allReadyWithinMs,
  );
  await delay(settlingMs);
  say(`they are probed for ${probedSeconds} s`);
  const used = openUsageWindow(report.pids);
  await delay(probedSeconds * 1000);
  const window = used();
  return {
    members,
    allReadyMs: Math.max(...readyAtMs) - fromMs,
    residentBefore,
    residentBytes: residentBytes(host) ?? Number.NaN,
    seconds: window.lastedMs / 1000,
    usedCores: usedCores(window),
  };
}

/** @param counts.joins - of each mode, one after the other */
export async function measureHosted(
  counts: { joins: number; members: number },
  say: (message: string) => void,
): Promise<HostedResult> {
  say('starting a hub whose agent host is a process of its own, and an API server for the members');
  await using hub = await startBenchHub({
    audit: 'metadata',
    withMember: true,
    agentHostProgram: compiledProgram('cli/main.js'),
  });
  const { report } = hub;
  const { member } = report;
  if (!member) throw new RollcallError('UNEXPECTED', 'the members have no API server');
  const admin = openBenchClient(report.admin);
  const memberClient = openBenchClient(member);
  const watch = await watchClusters(admin);
  const stage: Stage = { report, member, admin, watch };
  try {
    for (const cluster of clusterNames('warm-up', warmUps)) await push(stage, cluster);
    say(`${counts.joins} clusters join in mode Push, one after the other`);
    const pushed = clusterNames('pushed', counts.joins);
    const pushReadyMs: number[] = [];
    for (const cluster of pushed) pushReadyMs.push(await push(stage, cluster));
    say(`${counts.joins} in mode Pull`);
    const pulled: Awaited<ReturnType<typeof pull>>[] = [];
    for (const cluster of clusterNames('pulled', counts.joins))
      pulled.push(await pull(stage, { cluster, memberClient }));
    await delay(settlingMs);
    const writes = readAuditWrites(readFileSync(report.auditLogPath, 'utf8'));
    return {
      count: counts.joins,
      pushReadyMs: spreadOf(pushReadyMs),
      pushWrites: countJoinWrites(writes, pushed),
      pullInstalledMs: spreadOf(pulled.map(({ installedMs }) => installedMs)),
      pullReadyMs: spreadOf(pulled.map(({ readyMs }) => readyMs)),
      probes: await probe(stage, { members: counts.members, say }),
    };
  } finally {
    await watch.stop();
    memberClient.close();
    admin.close();
  }
}

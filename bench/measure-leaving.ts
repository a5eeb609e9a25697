import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { streamSize } from '@rollcall/shared/bus';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { type ApprovalPolicy, labels, type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { inParallel } from '../cli/simulate/in-parallel.ts';
import { makeToken } from '../cli/token/make-token.ts';
import { askServices } from '../cli/status/ask-services.ts';
import { connectAsInspector } from '../cli/up/people-connection.ts';
import { waitForObject } from '../cli/wait-for-object.ts';
import { until } from '../tests/harness/embedded.ts';
import { everythingIn } from '../tests/harness/everything.ts';
import { nowMs } from './clock.ts';
import { clusterNames } from './cluster-names.ts';
import { openBenchClient, startBenchHub } from './start-hub.ts';

/** Clusters that leave all at once, and what is there of them afterwards. */
export interface LeavingResult {
  readonly count: number;
  /** From the first deletion until the last object is gone. */
  readonly goneMs: number;
  /** Until Kubernetes has done away with the last of their namespaces. */
  readonly namespacesGoneMs: number;
  /** How much was there of them before: objects by kind, facts, entries of the heartbeat service. */
  readonly there: Readonly<Record<string, number>>;
  /** And afterwards, where it is not none. */
  readonly leftBehind: Readonly<Record<string, number>>;
}

const atOnce = 64;
/** Each look lists everything, on the same cores. */
const patience = { withinMs: 1_800_000, everyMs: 500 };
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

async function areAllReady(admin: KubeClient, count: number): Promise<boolean> {
  const clusters = await admin.list<ManagedCluster>(resources.managedClusters);
  const ready = clusters.filter(({ status }) =>
    status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True'),
  );
  return ready.length === count;
}

export async function measureLeaving(count: number, say: (message: string) => void): Promise<LeavingResult> {
  await using hub = await startBenchHub({
    audit: 'none',
    withMember: false,
    // So many in a minute would be held until a person confirms them.
    settings: { approver: { wishesPerMinute: '100000', wishesShare: '1' } },
  });
  const { report } = hub;
  const admin = openBenchClient(report.admin);
  const ops = await connectAsInspector(report.stateDir, { servers: report.addresses, caPem: report.caPem });
  const agents: SimulatedAgent[] = [];
  const clusters = clusterNames('leaver', count);
  try {
    await giveAccess(admin);
    const before = await countAll(admin, ops);
    const token = await makeToken(admin, { hubId: report.hubId, name: 'leavers', uses: count });
    say(`${count} clusters join`);
    await inParallel(clusters, atOnce, async (cluster) => {
      const agent = startSimulatedAgent({
        cluster,
        hub: report.addresses,
        caPem: report.caPem,
        token,
        onTrouble: (what) => say(what),
      });
      agents.push(agent);
      await agent.admitted;
    });
    await until('all are Ready', () => areAllReady(admin, count), patience);
    const there = moreThan(before, await countAll(admin, ops));

    say(`${count} clusters leave at once`);
    const fromMs = nowMs();
    await inParallel(clusters, atOnce, (cluster) => admin.delete(resources.managedClusters, cluster));
    const goneAtMs = await until(
      'all are gone',
      async () => (await admin.list(resources.managedClusters)).length === 0 && nowMs(),
      patience,
    );
    const ours = { labelSelector: labels.clusterId };
    const emptyAtMs = await until(
      'their namespaces are gone',
      async () => (await admin.list(resources.namespaces, ours)).length === 0 && nowMs(),
      patience,
    );
    await admin.delete(resources.clusterRegistrationTokens, 'leavers', { namespace: namespaces.join });
    await delay(settlingMs);
    return {
      count,
      goneMs: goneAtMs - fromMs,
      namespacesGoneMs: emptyAtMs - fromMs,
      there,
      leftBehind: moreThan(before, await countAll(admin, ops)),
    };
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await ops.close();
    admin.close();
  }
}

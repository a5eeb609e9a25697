import { setTimeout as delay } from 'node:timers/promises';
import {
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
  watchResource,
} from '@rollcall/shared/kubernetes';
import { makeToken } from '../../cli/token/make-token.ts';
import { nowMs } from '../report/clock.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { watchClusters } from '../hub/cluster-watch.ts';
import { inTime } from '../hub/in-time.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';

/** Clusters that leave one after the other, each with an agent that hears it and says goodbye. */
export interface UnregisterResult {
  readonly count: number;
  /** From the delete request until the object is gone: agent cleaned up, access and credentials removed, name free. */
  readonly goneMs: Spread;
  /** Until Kubernetes has done away with the cluster's namespace, which nobody of us waits for. */
  readonly namespaceGoneMs: Spread;
}

const pauseMs = 500;
const warmUps = 3;

interface GoneWatch {
  whenGone(name: string): Promise<number>;
  stop(): Promise<void>;
}

async function watchGone(client: KubeClient, resource: Resource): Promise<GoneWatch> {
  const ending = new AbortController();
  const synced = Promise.withResolvers<void>();
  const gone = new Map<string, PromiseWithResolvers<number>>();
  const goneOf = (name: string) => {
    const known = gone.get(name) ?? Promise.withResolvers<number>();
    gone.set(name, known);
    return known;
  };
  const watching = watchResource<KubeObject>(client, resource, {
    signal: ending.signal,
    onSynced: () => synced.resolve(),
    onEvent({ kind, object }) {
      if (kind === 'deleted') goneOf(object.metadata.name).resolve(nowMs());
    },
  });
  await synced.promise;
  return {
    whenGone: (name) => goneOf(name).promise,
    async stop() {
      ending.abort();
      await watching;
    },
  };
}

export async function measureUnregister(
  count: number,
  say: (message: string) => void,
): Promise<UnregisterResult> {
  await using hub = await startBenchHub({
    audit: 'metadata',
    withMember: false,
    // So many in a minute would be held until a person confirms them.
    settings: { approver: { bulkPerMinute: '1000', bulkShare: '1' } },
  });
  const { report } = hub;
  const admin = openBenchClient(report.admin);
  const watch = await watchClusters(admin);
  const clusters = await watchGone(admin, resources.managedClusters);
  const namespaces = await watchGone(admin, resources.namespaces);
  const token = await makeToken(admin, {
    hubId: report.hubId,
    name: 'leavers',
    uses: count + warmUps,
  });
  const agents: SimulatedAgent[] = [];

  async function joinAndLeave(cluster: string): Promise<{ goneMs: number; namespaceGoneMs: number }> {
    const agent = startSimulatedAgent({
      cluster,
      hub: report.addresses,
      caPem: report.caPem,
      token,
      onTrouble: (what) => say(`${cluster}: ${what}`),
    });
    agents.push(agent);
    await inTime(`${cluster} is Ready`, watch.whenReady(cluster));
    await delay(pauseMs);
    const fromMs = nowMs();
    await admin.delete(resources.managedClusters, cluster);
    const goneAtMs = await inTime(`${cluster} is gone`, clusters.whenGone(cluster));
    const namespaceGoneAtMs = await inTime(`${cluster} has no namespace`, namespaces.whenGone(cluster));
    return { goneMs: goneAtMs - fromMs, namespaceGoneMs: namespaceGoneAtMs - fromMs };
  }

  try {
    for (const cluster of clusterNames('warm-up', warmUps)) await joinAndLeave(cluster);
    say(`${count} clusters leave, one after the other`);
    const left = [];
    for (const cluster of clusterNames('leaver', count)) left.push(await joinAndLeave(cluster));
    return {
      count,
      goneMs: spreadOf(left.map(({ goneMs }) => goneMs)),
      namespaceGoneMs: spreadOf(left.map(({ namespaceGoneMs }) => namespaceGoneMs)),
    };
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await Promise.all([watch.stop(), clusters.stop(), namespaces.stop()]);
    admin.close();
  }
}

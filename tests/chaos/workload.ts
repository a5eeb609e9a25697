import { setTimeout as delay } from 'node:timers/promises';
import { resources } from '@rollcall/shared/kubernetes';
import type { Random } from '../../cli/simulate/random.ts';
import type { Schedule } from './schedule.ts';
import type { Stage } from './stage.ts';

/** What people and clusters do meanwhile, and what must have come of it in the end. */
export interface Workload {
  readonly joined: readonly string[];
  readonly changed: { readonly cluster: string; readonly label: string };
  readonly left: string | undefined;
}

/** Longer than any outage of a schedule, with what takes its time to start again. */
const patienceMs = 180_000;
const againMs = 300;
const mostClusters = 8;

/** As a person who tries again until it works: the API server may be away, or take it and die before it says so. */
export async function persist(work: () => Promise<unknown>): Promise<void> {
  for (const deadlineMs = performance.now() + patienceMs; ; await delay(againMs)) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
  }
}

/** Clusters of all agent processes. */
export function clustersOf(stage: Stage): string[] {
  return stage.agents.flatMap((agent) => [...agent.clusters()]);
}

/** Has clusters join, one change and one leave while the faults of the schedule strike. */
export async function doWork(
  stage: Stage,
  schedule: Schedule,
  { token, random }: { token: string; random: Random },
): Promise<Workload> {
  const { admin } = stage.hub.up;
  const there = clustersOf(stage);
  // A process without a cluster has no connection that a fault could hit.
  const mayLeave = stage.agents
    .filter((agent) => agent.clusters().length > 1)
    .flatMap((agent) => agent.clusters());
  const left = mayLeave.length > 0 ? random.pick(mayLeave) : undefined;
  const changed = random.pick(there.filter((name) => name !== left));
  const label = `s${schedule.seed}`;
  // Few enough that a process of agents that dies is no outage.
  const joinsAtMs = there.length >= mostClusters ? schedule.joinsAtMs.slice(0, 1) : schedule.joinsAtMs;
  const joined = joinsAtMs.map((_, index) => `c${schedule.seed}-${index}`);
  await Promise.all([
    ...joinsAtMs.map(async (atMs, index) => {
      const agent = random.pick(stage.agents);
      await delay(atMs);
      agent.add({ name: joined[index] ?? '', token });
    }),
    (async () => {
      await delay(schedule.changeAtMs);
      await persist(() =>
        admin.mergePatch(resources.managedClusters, changed, { metadata: { labels: { chaos: label } } }),
      );
    })(),
    (async () => {
      await delay(schedule.leaveAtMs);
      if (left !== undefined) await persist(() => admin.delete(resources.managedClusters, left));
    })(),
  ]);
  return { joined, changed: { cluster: changed, label }, left };
}

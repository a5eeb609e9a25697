import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { residentBytes } from '../../cli/simulate/report/process-usage.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import type { HubReport } from '../hub/hub-process.ts';
import { openUsageWindow, usedCores } from '../report/usage-window.ts';
import { startMembers, through } from './members.ts';
import { openWatch } from './open-watch.ts';

/** Watches in which nothing happens. */
export interface IdleWatches {
  readonly clusters: number;
  readonly watches: number;
  /** Of the process with all services, for all watches together. */
  readonly moreInHubBytes: number;
  /** Of the agent that grew most. */
  readonly moreInAgentBytes: number;
  /** More than without a watch, while nothing happens; agents together. */
  readonly moreCores: { readonly services: number; readonly agents: number };
}

const clusters = 100;
const watchesEach = 10;
const restMs = 10_000;
const path = '/api/v1/namespaces/default/secrets?watch=true';

const size = (pid: number) => residentBytes(pid) ?? Number.NaN;

export async function measureIdleWatches(report: HubReport, admin: KubeClient): Promise<IdleWatches> {
  const names = clusterNames('watched', clusters);
  const agents = await startMembers(report, admin, names);
  await using stack = new AsyncDisposableStack();
  for (const agent of agents) stack.use(agent);
  const services = report.pids['services (one process)'] ?? 0;
  // The first one has each agent load and connect what it needs.
  for (const name of names) (await openWatch(report.admin, through(name, path)))();
  await delay(restMs);
  const pids = { services, ...Object.fromEntries(agents.map(({ pid }, index) => [`agent ${index}`, pid])) };
  async function coresNow() {
    const end = openUsageWindow(pids);
    await delay(restMs);
    const { services: ofServices = 0, ...ofAgents } = usedCores(end());
    return { services: ofServices, agents: Object.values(ofAgents).reduce((sum, one) => sum + one, 0) };
  }
  const coresBefore = await coresNow();
  const before = { hub: size(services), agents: agents.map(({ pid }) => size(pid)) };
  const ends: (() => void)[] = [];
  for (const name of names) {
    const opening = Array.from({ length: watchesEach }, () => openWatch(report.admin, through(name, path)));
    ends.push(...(await Promise.all(opening)));
  }
  await delay(restMs);
  const coresAfter = await coresNow();
  const result: IdleWatches = {
    clusters,
    watches: clusters * watchesEach,
    moreInHubBytes: size(services) - before.hub,
    moreInAgentBytes: Math.max(...agents.map(({ pid }, at) => size(pid) - (before.agents[at] ?? Number.NaN))),
    moreCores: {
      services: coresAfter.services - coresBefore.services,
      agents: coresAfter.agents - coresBefore.agents,
    },
  };
  for (const close of ends) close();
  return result;
}

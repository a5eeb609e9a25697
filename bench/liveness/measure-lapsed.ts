import { setTimeout as delay } from 'node:timers/promises';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { hearHeartbeats } from '../../tests/harness/hear-heartbeats.ts';
import { enrolMembers } from '../../tests/harness/member-fleet.ts';
import { serveInProcess } from '../../tests/harness/service-process.ts';
import { startTestHub } from '../../tests/harness/test-hub.ts';
import { nowMs } from '../report/clock.ts';
import { herdReports, startHerds } from './herd-agents.ts';
import type { HerdReport } from './herd-process.ts';
import { openUsageWindow, usedCores } from '../report/usage-window.ts';

/** The registrar was away so long that the credentials of all members have ended, and it comes back. */
export interface LapsedResult {
  readonly agents: number;
  /** From when it is ready, until each agent is a member again and was heard. */
  readonly backMs: Spread;
  readonly lastMs: number;
  readonly troubles: HerdReport;
  readonly usedCores: Readonly<Record<string, number>>;
}

const startedPerSecond = 100;

/** Agents that have been members come back by their keys; nobody decides anything about them. */
export async function measureLapsed(agents: number, say: (message: string) => void): Promise<LapsedResult> {
  await using hub = await startTestHub();
  const members = await enrolMembers(hub, { count: agents, endsInMs: -15 * 3_600_000 });
  const heartbeats = await hearHeartbeats(hub, nowMs);
  const { stateDir } = hub;
  const serve = (name: 'heartbeat' | 'registrar') =>
    serveInProcess(name, { label: name, stateDir, settings: hub.serviceSettings(name) });
  const heartbeat = await serve('heartbeat');
  const herds = startHerds(hub, members, startedPerSecond);
  try {
    say(`${agents} agents whose credentials have ended knock, and nobody answers`);
    const back = heartbeats.allOf(members.map(({ clusterId }) => clusterId));
    await delay((agents / startedPerSecond) * 1000 + 10_000);
    const registrar = await serve('registrar');
    try {
      say('the registrar is back');
      const fromMs = nowMs();
      const pids = Object.fromEntries(herds.map(({ pid = 0 }, index) => [`agents ${index + 1}`, pid]));
      const services = { registrar: registrar.pid, heartbeat: heartbeat.pid };
      const end = openUsageWindow({ 'nats-server': hub.natsServer.pid(), ...services, ...pids });
      const tookMs = [...(await back).values()].map((atMs) => Math.max(0, atMs - fromMs));
      const cores = usedCores(end());
      return {
        agents,
        backMs: spreadOf(tookMs),
        lastMs: Math.max(...tookMs),
        troubles: await herdReports(herds),
        usedCores: cores,
      };
    } finally {
      await registrar.stop();
    }
  } finally {
    for (const herd of herds) herd.disconnect();
    await heartbeats.stop();
    await heartbeat.stop();
  }
}

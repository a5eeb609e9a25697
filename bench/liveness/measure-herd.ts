import { setTimeout as delay } from 'node:timers/promises';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { hearHeartbeats } from '../../tests/harness/hear-heartbeats.ts';
import { enrolMembers } from '../../tests/harness/member-fleet.ts';
import { serveInProcess } from '../../tests/harness/service-process.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { nowMs } from '../report/clock.ts';
import { herdReports, startHerds } from './herd-agents.ts';
import type { HerdReport } from './herd-process.ts';
import { openUsageWindow, usedCores } from '../report/usage-window.ts';

/** One outage: the NATS server is killed, and later another one takes its place. */
export interface HerdRound {
  /** From the kill until the server listened again. */
  readonly awayMs: number;
  /** From then on, until each agent was heard again. */
  readonly backMs: Spread;
  readonly lastMs: number;
  readonly mostInOneSecond: number;
  /** What the hub has written of any of the clusters because of it: nothing, as all are alive. */
  readonly written: Readonly<Record<string, number>>;
  /** What agents met, by phase and code. */
  readonly troubles: HerdReport;
  /** In cores, until the last was back. */
  readonly usedCores: Readonly<Record<string, number>>;
}

export interface HerdResult {
  readonly agents: number;
  readonly rounds: readonly HerdRound[];
}

/** The first time they come as a fleet grows, not as one that has lost its hub. */
const startedPerSecond = 160;
/** Until whoever had not come back would have been called dead. */
const judgedAfterMs = 50_000;
/** As soon as a supervisor has started it again, and after agents have lost patience. */
const outagesMs = [0, 20_000];

/** Agents over real TLS connections that lose their hub all at once, on the same cores as the hub. */
export async function measureHerd(agents: number, say: (message: string) => void): Promise<HerdResult> {
  await using hub = await startTestHub();
  say(`a history of ${agents} clusters`);
  const members = await enrolMembers(hub, { count: agents, endsInMs: 20 * 3_600_000 });
  const heartbeats = await hearHeartbeats(hub, nowMs);
  const { stateDir } = hub;
  const serve = (name: 'heartbeat' | 'registrar') =>
    serveInProcess(name, { label: name, stateDir, settings: hub.serviceSettings(name) });
  // The registrar tells what the heartbeat service has found out about the size of the fleet.
  const heartbeat = await serve('heartbeat');
  const registrar = await serve('registrar');
  const herds = startHerds(hub, members, startedPerSecond);
  try {
    say(`${agents} agents come, ${startedPerSecond} a second`);
    await heartbeats.allOf(members.map(({ clusterId }) => clusterId));
    // Their facts, with the answers to which they hear how slowly to come back.
    await delay(20_000);
    const services = { heartbeat: heartbeat.pid, registrar: registrar.pid };
    const rounds: HerdRound[] = [];
    for (const outageMs of outagesMs) {
      say(`the NATS server is killed, and away for ${outageMs / 1000} s and a start`);
      rounds.push(await measureOutage(outageMs));
    }
    return { agents, rounds };

    async function measureOutage(outageMs: number): Promise<HerdRound> {
      await herdReports(herds);
      const fromSequence = await nextSequence(hub);
      const killedAtMs = nowMs();
      await hub.natsServer.kill();
      const back = heartbeats.allOf(members.map(({ clusterId }) => clusterId));
      await delay(outageMs);
      await hub.natsServer.restart();
      const listensAtMs = nowMs();
      const pids = Object.fromEntries(herds.map(({ pid = 0 }, index) => [`agents ${index + 1}`, pid]));
      const end = openUsageWindow({ 'nats-server': hub.natsServer.pid(), ...services, ...pids });
      const tookMs = [...(await back).values()].map((atMs) => Math.max(0, atMs - listensAtMs));
      const cores = usedCores(end());
      say(`all are back after ${(Math.max(...tookMs) / 1000).toFixed(1)} s`);
      await delay(judgedAfterMs);
      const inSecond = Object.values(countOf(tookMs.map((took) => String(Math.floor(took / 1000)))));
      return {
        awayMs: listensAtMs - killedAtMs,
        backMs: spreadOf(tookMs),
        lastMs: Math.max(...tookMs),
        mostInOneSecond: Math.max(...inSecond),
        written: countOf(await writtenSince(hub, fromSequence)),
        troubles: await herdReports(herds),
        usedCores: cores,
      };
    }
  } finally {
    for (const herd of herds) herd.disconnect();
    await heartbeats.stop();
    await Promise.all([heartbeat.stop(), registrar.stop()]);
  }
}

function countOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

async function nextSequence(hub: TestHub): Promise<number> {
  let last = 0;
  const log = await hub.openLog('heartbeat');
  for await (const { sequence } of log.scan({})) last = sequence;
  return last + 1;
}

async function writtenSince(hub: TestHub, fromSequence: number): Promise<string[]> {
  const types: string[] = [];
  const log = await hub.openLog('heartbeat');
  for await (const { type } of log.scan({ fromSequence })) types.push(type);
  return types;
}

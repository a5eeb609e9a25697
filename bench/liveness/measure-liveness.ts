import { setTimeout as delay } from 'node:timers/promises';
import { followEvents, openEventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { Liveness, StoredEvent } from '@rollcall/shared/events';
import { type KubeAccess } from '@rollcall/shared/kubernetes';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { agentProgram } from '../hub/agent-program.ts';
import { nowMs } from '../report/clock.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { watchClusters } from '../hub/cluster-watch.ts';
import { inTime } from '../hub/in-time.ts';
import { type BenchAgent, startBenchAgent } from '../hub/start-agent.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';

/** How soon it is known, and where, that an agent is no more. */
export interface LivenessResult {
  readonly kills: number;
  readonly silences: number;
  readonly intervalMs: number;
  readonly graceMs: number;
  /** From kill -9 to what each of them shows first. */
  readonly killed: {
    readonly liveMs: Spread;
    readonly suspectMs: Spread;
    readonly notTrueMs: Spread;
    readonly falseMs: Spread;
  };
  /** From the last heartbeat of an agent that falls silent and keeps its connection, in hub time. */
  readonly unreachableMs: Spread;
}

const intervalSeconds = 2;
const graceSeconds = 6;
const startsAtOnce = 4;
/** Agents are killed one after the other, so that none waits for what follows from another. */
const betweenMs = 300;

/** The next time that something is said of a cluster. */
function nextTimes() {
  const waiting = new Map<string, PromiseWithResolvers<number>>();
  return {
    note: (cluster: string, atMs: number) => waiting.get(cluster)?.resolve(atMs),
    /** From now on: a heartbeat that was missed before says nothing of what is done now. */
    whenNext(cluster: string): Promise<number> {
      const next = Promise.withResolvers<number>();
      waiting.set(cluster, next);
      return next.promise;
    },
  };
}

/**
 * Agents in processes of their own, some of which are killed and some stopped, so that they say nothing more. The outage guard is
 * off: this fleet goes away as a whole.
 */
export async function measureLiveness(
  counts: { kills: number; silences: number },
  say: (message: string) => void,
): Promise<LivenessResult> {
  const program = [agentProgram('compiled')];
  say('starting a hub with short intervals');
  await using hub = await startBenchHub({
    audit: 'metadata',
    withMember: true,
    settings: {
      approver: {
        heartbeatIntervalSeconds: `${intervalSeconds}`,
        heartbeatGraceSeconds: `${graceSeconds}`,
      },
      heartbeat: { outageMinimum: '100000' },
    },
  });
  const { report } = hub;
  const { member } = report;
  if (!member) throw new RollcallError('UNEXPECTED', 'the members have no API server');
  const admin = openBenchClient(report.admin);
  const watch = await watchClusters(admin);
  const nc = await connectAsInspector(report.stateDir, { servers: report.addresses, caPem: report.caPem });
  const log = await openEventLog(nc, { epoch: report.epoch, source: '/rollcall/bench' });
  const ending = new AbortController();
  const agents = new Map<string, BenchAgent>();
  const [live, suspect, unreachable] = [nextTimes(), nextTimes(), nextTimes()];

  function hearLive(): void {
    nc.subscribe('rollcall.live.*', {
      callback: (error, message) => {
        if (error) return;
        const { state } = message.json<{ state: string }>();
        if (state !== 'ready') live.note(message.subject.split('.')[2] ?? '', nowMs());
      },
    });
  }

  async function follow(type: string, take: (event: StoredEvent) => void): Promise<void> {
    const events = { filter: `cluster.*.${type}`, fromSequence: 1, signal: ending.signal };
    for await (const event of followEvents(nc, log, events)) take(event);
  }

  async function joinHub(cluster: string, token: string, its: KubeAccess): Promise<void> {
    const agent = startBenchAgent(report, { cluster, token, member: its, program });
    agents.set(cluster, agent);
    await Promise.race([inTime(`"${cluster}" is Ready`, watch.whenReady(cluster)), agent.broken]);
  }

  async function kill(cluster: string) {
    const shown = [['Unknown', 'False'], ['False']].map((statuses) => watch.whenNext(cluster, statuses));
    const seen = Promise.all([live.whenNext(cluster), suspect.whenNext(cluster), ...shown]);
    const atMs = nowMs();
    process.kill(agents.get(cluster)?.pid ?? 0, 'SIGKILL');
    const [liveMs = 0, suspectMs = 0, notTrueMs = 0, falseMs = 0] = (
      await inTime(`"${cluster}" is found to be dead`, seen)
    ).map((seenAtMs) => seenAtMs - atMs);
    return { liveMs, suspectMs, notTrueMs, falseMs };
  }

  const following = [
    follow('suspect', ({ id }) => suspect.note(id, nowMs())),
    // In hub time: since the last heartbeat that it heard.
    follow('unreachable', ({ id, timeMs, section }) =>
      unreachable.note(id, timeMs - (section as Liveness).lastHeartbeatAtMs),
    ),
  ];
  try {
    const killed = clusterNames('killed', counts.kills);
    const silent = clusterNames('silent', counts.silences);
    const all = [...killed, ...silent];
    const token = await makeToken(admin, { hubId: report.hubId, name: 'liveness', uses: all.length });
    say(`${all.length} agents join`);
    await inParallel(all, startsAtOnce, (cluster) => joinHub(cluster, token, member));
    hearLive();
    await nc.flush();
    // Each has sent a heartbeat at the interval by then, and the hub has nothing left to write of the joins.
    await delay(2 * intervalSeconds * 1000);

    say(`${counts.silences} agents fall silent, and ${counts.kills} are killed`);
    const silenced = silent.map((cluster) => unreachable.whenNext(cluster));
    for (const cluster of silent) process.kill(agents.get(cluster)?.pid ?? 0, 'SIGSTOP');
    const unreachableMs = await inTime('silent agents are unreachable', Promise.all(silenced));
    const found: ReturnType<typeof kill>[] = [];
    for (const cluster of killed) {
      found.push(kill(cluster));
      await delay(betweenMs);
    }
    const seen = await Promise.all(found);
    return {
      ...counts,
      intervalMs: intervalSeconds * 1000,
      graceMs: graceSeconds * 1000,
      killed: {
        liveMs: spreadOf(seen.map(({ liveMs }) => liveMs)),
        suspectMs: spreadOf(seen.map(({ suspectMs }) => suspectMs)),
        notTrueMs: spreadOf(seen.map(({ notTrueMs }) => notTrueMs)),
        falseMs: spreadOf(seen.map(({ falseMs }) => falseMs)),
      },
      unreachableMs: spreadOf(unreachableMs),
    };
  } finally {
    ending.abort();
    await Promise.allSettled(following);
    await nc.close();
    await watch.stop();
    admin.close();
    await Promise.all([...agents.values()].map((agent) => agent[Symbol.asyncDispose]()));
  }
}

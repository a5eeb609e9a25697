import type { StoredEvent } from '@rollcall/shared/events';
import type { NatsConnection } from '@nats-io/transport-node';
import { encodeHeartbeat, type EventLog } from '@rollcall/shared/bus';
import { followMembers } from '../../services/heartbeat/members/follow-members.ts';
import { LivenessEngine } from '../../services/heartbeat/engine/liveness-engine.ts';
import { receiveHeartbeats } from '../../services/heartbeat/receive/receive-heartbeats.ts';
import { readOutages, writeOutage } from '../../services/heartbeat/outage/outage-log.ts';
import { coordinateTransitions } from '../../services/heartbeat/write/confirm-and-write.ts';
import { flap } from './replay.ts';
import type { Replica } from './replica.ts';
import type { World } from './world.ts';

const tickMs = 2000;
const pauseMs = 5000;
const noData: Uint8Array = new Uint8Array();

type OnMessage = (error: null, message: { subject: string; data: Uint8Array; event?: StoredEvent }) => void;

/** The heartbeat service: its engine, its writer and its watch are the real ones; what is heard comes from the world. */
export async function startHeartbeat(world: World, replica: Replica, log: EventLog): Promise<void> {
  const { scheduler, random } = world;
  const { logger, life } = replica;
  const clock = { monotonicMs: () => scheduler.nowMs, hubMs: () => Date.now() };
  const engine = new LivenessEngine({
    nowMs: scheduler.nowMs,
    suspectAfterMs: 2000,
    steadyForMs: 60_000,
    outage: { share: 0.5, groupShare: 0.5, minimum: 20, windowMs: 30_000, deadlineMs: 120_000 },
    output: {
      live: () => undefined,
      outage: (change) => void writeOutage(log, { ...change, nowMs: clock.hubMs() }).catch(() => undefined),
      keyUse: () => undefined,
    },
  });
  replica.engine = engine;
  coordinateTransitions({
    engine,
    log,
    clock,
    logger,
    async isReceiving() {
      await scheduler.wait(random.next() * 2, life);
      return true;
    },
    replicas: {
      async youngest(ids) {
        await scheduler.wait(200, life);
        await replica.step();
        return ids.map((id) => youngestElsewhere(world, replica, id));
      },
    },
    flap,
    written: () => undefined,
    notReceiving: () => engine.listenAfresh(clock.monotonicMs()),
  });
  const heard = new Map<string, OnMessage>();
  const nc = {
    subscribe: (subject: string, { callback }: { callback: OnMessage }) => {
      heard.set(subject, callback);
      return { unsubscribe: () => undefined };
    },
  } as unknown as NatsConnection;
  const heartbeats = receiveHeartbeats(nc, { engine, log, clock, logger, partition: undefined });
  const members = followMembers(nc, {
    engine,
    log,
    clock,
    logger,
    partition: undefined,
    // Everything that is stored is told here.
    lastSequence: () => Promise.resolve(0),
    cameIn: (clusterId) => heartbeats.hearAgain(clusterId),
  });
  const message = (subject: string, data = noData) => ({ subject, data });
  replica.listen((what) => {
    if (what.kind === 'heartbeat') {
      replica.signsOfLife.heard(what.clusterId, what.flags);
      const heartbeat = encodeHeartbeat({ flags: what.flags, agentTimeMs: scheduler.nowMs });
      heard.get('rollcall.heartbeat.*')?.(null, message(`rollcall.heartbeat.${what.clusterId}`, heartbeat));
    }
    if (what.kind === 'event') {
      const { event } = what;
      const subject = `rollcall.stored.cluster.${event.id}.${event.type}`;
      const callback = heard.get(`rollcall.stored.cluster.*.${event.type}`);
      callback?.(null, { ...message(subject), event });
    }
  });
  for (;;) {
    try {
      for (const group of await readOutages(log)) engine.holdForOutage(clock.monotonicMs(), group);
      await members.readAll();
      break;
    } catch {
      await scheduler.wait(1000, life);
    }
  }
  heartbeats.listen();
  engine.listenAfresh(clock.monotonicMs());
  let lastMs = clock.monotonicMs();
  const tick = () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - lastMs > pauseMs) engine.listenAfresh(nowMs);
    else engine.advance(nowMs);
    lastMs = nowMs;
    scheduler.after(tickMs, () => replica.run(async () => tick()), life);
  };
  tick();
}

function youngestElsewhere(world: World, replica: Replica, clusterId: string): number | undefined {
  const ages = world
    .replicasOf('heartbeat')
    .filter((other) => other !== replica && other.life.pausedUntilMs <= world.scheduler.nowMs)
    .map((other) => other.engine?.snapshot.lastHeartbeatMs(clusterId))
    .filter((lastMs) => lastMs !== undefined && lastMs > -Infinity)
    .map((lastMs) => world.scheduler.nowMs - Number(lastMs));
  return ages.length === 0 ? undefined : Math.min(...ages);
}

import { setTimeout as delay } from 'node:timers/promises';
import { streamState } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, letInBy } from '@rollcall/shared/events';
import { heardSubject } from '@rollcall/shared/protocol';
import {
  busAddress,
  busUserSchema,
  readIdentity,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import type { HeartbeatConfig } from './config.ts';
import { serveHeard } from './receive/serve-heard.ts';
import { memberOfNotice } from './connections/connection-notice.ts';
import { keepInterval, type IntervalInForce } from './interval/interval-multiplier.ts';
import { followMembers } from './members/follow-members.ts';
import { systemClock as clock } from './engine/hub-clock.ts';
import { keepTime } from './engine/keep-time.ts';
import { writeFlood } from './write/flood-event.ts';
import { writeKeyUse } from './write/key-use-event.ts';
import { LivenessEngine } from './engine/liveness-engine.ts';
import { livenessStates } from './engine/cluster-table.ts';
import { followOwnLosses } from './connections/own-losses.ts';
import { type HeartbeatReceiver, receiveHeartbeats } from './receive/receive-heartbeats.ts';
import { joinReplicas } from './write/replicas.ts';
import { readOutages, writeOutage } from './outage/outage-log.ts';
import { type Probe, watchNotices } from './connections/watch-notices.ts';
import { watchFloods } from './write/watch-floods.ts';
import { createTransitionWriter, type TransitionWriter } from './write/transition-writer.ts';

export { configSchema } from './config.ts';

/** A fleet does not grow much faster. */
const lookAtIntervalMs = 30_000;
const listenAgainMs = 5000;
const readAgainMs = 1000;

/** Starts the heartbeat service: it hears heartbeats and connections, and writes who is alive. */
export async function start(config: HeartbeatConfig, waitsUntil?: AbortSignal): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, { noticeProbe: busUserSchema.optional() });
  const { noticeProbe: user } = identity;
  return runService({
    name: 'heartbeat',
    description: 'hears heartbeats; writes who is alive',
    config,
    identity,
    waitsUntil,
    work: (context) => work(context, { config, probe: user && { address: busAddress(config), user } }),
  });
}

/** How late an event can be that was stored and never told: the server that stored it died. */
const lookAtMembersMs = 10_000;

async function work(
  { nc, log, logger, metrics, connectAgain }: ServiceContext,
  { config, probe }: { config: HeartbeatConfig; probe: Probe | undefined },
): Promise<ServiceWork> {
  // Behind a flood of heartbeats nothing that is asked or written would be answered in time.
  const hearing = await connectAgain();
  const { heartbeatPartition: partition } = config;
  let writer: TransitionWriter | undefined;
  let heartbeats: HeartbeatReceiver | undefined;
  let receivesNothing = false;
  const sideWrites = new Set<Promise<void>>();
  /** What is not written now is found again. */
  function writeAside(writing: Promise<void>, failure: string): void {
    const tracked = writing
      .catch((thrown: unknown) => logger.error({ err: toRollcallError(thrown) }, failure))
      .finally(() => sideWrites.delete(tracked));
    sideWrites.add(tracked);
  }
  const live = (clusterId: string, state: string, reason: string) => {
    if (!nc.isClosed())
      nc.publish(`rollcall.live.${clusterId}`, JSON.stringify({ state, atMs: clock.hubMs(), reason }));
  };
  const engine = new LivenessEngine({
    nowMs: clock.monotonicMs(),
    suspectAfterMs: config.suspectAfter,
    steadyForMs: config.flapSteady,
    outage: {
      share: config.outageShare,
      groupShare: config.outageGroupShare,
      minimum: config.outageMinimum,
      windowMs: config.outageWindow,
      deadlineMs: config.outageDeadline,
    },
    output: {
      proposal: (proposal) => writer?.write(proposal),
      live,
      outage({ isDeadline: _isDeadline, ...change }) {
        const { silent: count, change: state, group } = change;
        const of = group ? { reason: `${group.kind} ${group.name}` } : {};
        logger.warn({ count, state, ...of }, 'outage: a large part of the fleet is silent together');
        writeAside(writeOutage(log, { ...change, nowMs: clock.hubMs() }), 'outage could not be written');
      },
      keyUse(clusterId, change) {
        if (change === 'shared') logger.warn({ clusterId }, 'two agents use the key of one cluster');
        const writing = writeKeyUse(log, { clusterId, change, nowMs: clock.hubMs() });
        writeAside(writing, 'the use of a key could not be written');
      },
    },
  });
  function observeRegistration({ identity, decision }: ClusterRecord): void {
    if (!identity || !decision) return;
    const seconds = Math.max(0, clock.hubMs() - identity.request.requestedAtMs) / 1000;
    const by = letInBy(decision, identity.request);
    if (by) metrics.observe('rollcall_registration_duration_seconds', seconds, { by });
  }
  const listenAfresh = () => engine.listenAfresh(clock.monotonicMs());
  const awaitReturn = () => engine.awaitReturn(clock.monotonicMs());

  const ageOf = (clusterId: string) => {
    const lastHeartbeatMs = engine.lastHeartbeatMs(clusterId);
    return lastHeartbeatMs === undefined || lastHeartbeatMs === -Infinity
      ? undefined
      : clock.monotonicMs() - lastHeartbeatMs;
  };
  const replicas = joinReplicas(nc, ageOf);
  /** Nobody else would ask again while all heartbeats come. */
  async function untilHeard(): Promise<void> {
    while (receivesNothing && !nc.isClosed()) {
      await delay(listenAgainMs, undefined, { ref: false });
      if (heartbeats !== undefined && (await heartbeats.isReceiving().catch(() => false)))
        receivesNothing = false;
    }
  }
  writer = createTransitionWriter({
    engine,
    log,
    replicas,
    async isReceiving() {
      const receivedNothing = receivesNothing;
      receivesNothing = heartbeats !== undefined && !(await heartbeats.isReceiving());
      if (receivesNothing && !receivedNothing) void untilHeard();
      return !receivesNothing;
    },
    clock,
    logger,
    flap: { losses: config.flapLosses, windowMs: config.flapWindow },
    written({ clusterId, state, cause }, joinedFrom) {
      if (joinedFrom) observeRegistration(joinedFrom);
      live(clusterId, state, cause);
    },
    notReceiving() {
      metrics.count('rollcall_liveness_not_receiving_total');
      listenAfresh();
    },
  });
  const members = followMembers(nc, {
    engine,
    log,
    clock,
    logger,
    partition,
    lastSequence: async () => (await streamState(nc, 'EVENTS')).lastSequence,
    cameIn: (clusterId) => heartbeats?.hearAgain(clusterId),
  });

  const notices = (['connected', 'disconnected'] as const).map((kind) =>
    nc.subscribe(`rollcall.sys.${kind}`, {
      callback: (error, message) => {
        const member = error ? undefined : memberOfNotice(message.string());
        if (!member) return;
        metrics.count('rollcall_connection_notices_total', { kind });
        if (kind === 'connected') engine.connected(member, clock.monotonicMs());
        else engine.disconnected(member, clock.monotonicMs());
      },
    }),
  );
  const noticeWatch = watchNotices(nc, { probe, logger });
  for (const group of await readOutages(log)) engine.holdForOutage(clock.monotonicMs(), group);
  await members.readAll();
  let inForce: IntervalInForce = { multiplier: 1, returnWithinMs: 0 };
  /** Of the whole fleet, of which this process may hear a part only. */
  async function adjustInterval(): Promise<void> {
    const parts = partition?.count ?? 1;
    inForce = await keepInterval(log, {
      clusters: engine.known() * parts,
      nominalPerSecond: engine.nominalPerSecond() * parts,
      ceilingPerSecond: config.heartbeatsPerSecond,
      returnsPerSecond: config.returnsPerSecond,
      nowMs: clock.hubMs(),
    });
    engine.changeInterval(inForce);
  }
  await adjustInterval();
  const receiver = receiveHeartbeats(hearing, { engine, log, clock, logger, partition });
  heartbeats = receiver;
  await Promise.all([nc.flush(), hearing.flush()]);
  awaitReturn();

  const questions = serveHeard(nc, { engine, clock, partition });

  let isConnected = true;
  let isHearing = true;
  async function followHearing(): Promise<void> {
    for await (const { type } of hearing.status()) {
      if (type === 'disconnect') isHearing = false;
      if (type !== 'reconnect') continue;
      // It went away, or was given up because it was too slow: heartbeats were missed.
      logger.warn({}, 'heartbeats are heard again; every cluster has its whole grace');
      awaitReturn();
      isHearing = true;
    }
  }
  void followHearing();
  followOwnLosses({ main: nc, second: hearing }, () => metrics.count('rollcall_bus_reconnects_total'));
  async function followConnection(): Promise<void> {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') isConnected = false;
      if (type !== 'reconnect') continue;
      // Events, heartbeats and notices were missed: everything is read again, and everybody has a whole grace.
      engine.forgetConnections();
      for (;;) {
        try {
          await members.readAll();
          break;
        } catch (thrown) {
          if (nc.isClosed()) return;
          logger.warn({ err: toRollcallError(thrown) }, 'clusters could not be read after a reconnect');
          await delay(readAgainMs);
        }
      }
      awaitReturn();
      isConnected = true;
    }
  }
  void followConnection();

  const stopTime = keepTime({
    engine,
    clock,
    logger,
    isListening: () => isConnected && isHearing,
  });
  const lookAtInterval = () => writeAside(adjustInterval(), 'the interval could not be kept');
  const intervalTimer = setInterval(lookAtInterval, lookAtIntervalMs);
  const membersTimer = setInterval(() => members.lookAgain(), lookAtMembersMs);
  const stopFloods = watchFloods({
    takeFloods: (most) => [...engine.takeFloods(most), ...receiver.takeFloods(most)],
    clock,
    logger,
    metrics,
    settings: { windowMs: config.floodWindow, perSecond: config.floodRate },
    found(finding) {
      const writing = writeFlood(log, finding);
      writeAside(writing, 'a flood could not be written');
      return writing;
    },
  });
  const { number: part, count: parts } = partition ?? { number: 0, count: 1 };
  const ofPart = { part: String(part), of: String(parts) };
  metrics.beforeScrape(() => {
    for (const state of livenessStates)
      metrics.gauge('rollcall_liveness_clusters', engine.countOf(state), { state, ...ofPart });
    metrics.total('rollcall_heartbeats_total', receiver.counts.taken, ofPart);
    metrics.total('rollcall_heartbeats_unknown_total', receiver.counts.unknown, ofPart);
    metrics.total('rollcall_heartbeats_malformed_total', receiver.counts.malformed, ofPart);
    metrics.gauge('rollcall_heartbeat_interval_multiplier', inForce.multiplier);
    metrics.gauge('rollcall_liveness_signals', noticeWatch.missing() === undefined ? 2 : 1);
    metrics.gauge('rollcall_outage', engine.inOutage ? 1 : 0);
  });
  return {
    stats: () => ({
      part,
      parts,
      clustersNeverSeen: engine.countOf('neverSeen'),
      clustersReady: engine.countOf('ready'),
      clustersSuspect: engine.countOf('suspect'),
      clustersUnreachable: engine.countOf('unreachable'),
      clustersStopped: engine.countOf('stopped'),
      clustersMemberDown: engine.countOf('memberDown'),
      clustersFlapping: engine.countOf('flapping'),
      heartbeats: receiver.counts.taken,
      outage: engine.inOutage ? 1 : 0,
      intervalMultiplier: inForce.multiplier,
      signals: noticeWatch.missing() === undefined ? 2 : 1,
    }),
    endpoints: [{ name: 'clusters', subject: heardSubject, requests: questions.asked }],
    degraded: () => noticeWatch.missing(),
    notReady() {
      if (!isConnected) return 'not connected to the bus';
      if (!isHearing) return 'heartbeats are not heard';
      return receivesNothing ? 'not receiving: its own heartbeats do not come back' : undefined;
    },
    async drain() {
      stopTime();
      stopFloods();
      clearInterval(intervalTimer);
      clearInterval(membersTimer);
      noticeWatch.stop();
      questions.stop();
      for (const subscription of notices) subscription.unsubscribe();
      await Promise.all([receiver.stop(), members.stop()]);
      await writer.drain();
      replicas.stop();
      await Promise.allSettled(sideWrites);
      await hearing.close();
    },
  };
}

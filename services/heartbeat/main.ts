import { streamState } from '@rollcall/shared/bus';
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
import { engineSettings, type HeartbeatConfig } from './config.ts';
import { followOwnConnections } from './connections/follow-own-connections.ts';
import { hearNotices } from './connections/hear-notices.ts';
import type { Probe } from './connections/watch-notices.ts';
import { systemClock as clock } from './engine/hub-clock.ts';
import { keepTime } from './engine/keep-time.ts';
import { LivenessEngine } from './engine/liveness-engine.ts';
import { reportFigures } from './figures/report-figures.ts';
import { createFleetInterval } from './interval/keep-interval-multiplier.ts';
import { followMembers } from './members/follow-members.ts';
import { readOutages } from './outage/outage-log.ts';
import { receiveHeartbeats } from './receive/receive-heartbeats.ts';
import { serveHeard } from './receive/serve-heard.ts';
import { watchFloods } from './floods/watch-heartbeat-floods.ts';
import { writeAside } from './write/background-writes.ts';
import { writeFindings } from './write/write-findings.ts';
import { writeTransitions } from './write/transition-pipeline.ts';

export { configSchema } from './config.ts';

/** A fleet does not grow much faster. */
const lookAtIntervalMs = 30_000;
/** How late an event can be that was stored and never told: the server that stored it died. */
const lookAtMembersMs = 10_000;

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

async function work(
  { nc, log, logger, metrics, connectAgain }: ServiceContext,
  { config, probe }: { config: HeartbeatConfig; probe: Probe | undefined },
): Promise<ServiceWork> {
  // Behind a flood of heartbeats nothing that is asked or written would be answered in time.
  const hearing = await connectAgain();
  const { heartbeatPartition: partition } = config;
  const common = { log, clock, logger, metrics, partition };

  const aside = writeAside(logger);
  const output = writeFindings(nc, { ...common, aside });
  const engine = new LivenessEngine({ nowMs: clock.monotonicMs(), ...engineSettings(config), output });
  const { snapshot } = engine;

  const receiver = receiveHeartbeats(hearing, { ...common, engine });
  const flap = { losses: config.flapLosses, windowMs: config.flapWindow };
  const transitions = writeTransitions(nc, { ...common, engine, receiver, flap, sayLive: output.live });
  const members = followMembers(nc, {
    ...common,
    engine,
    lastSequence: async () => (await streamState(nc, 'EVENTS')).lastSequence,
    cameIn: receiver.hearAgain,
  });
  const notices = hearNotices(nc, { ...common, engine, probe });
  const interval = createFleetInterval(engine, {
    ...common,
    limits: { ceilingPerSecond: config.heartbeatsPerSecond, returnsPerSecond: config.returnsPerSecond },
  });

  for (const group of await readOutages(log)) engine.holdForOutage(clock.monotonicMs(), group);
  await members.readAll();
  await interval.adjust();
  receiver.listen();
  await Promise.all([nc.flush(), hearing.flush()]);
  engine.awaitReturn(clock.monotonicMs());

  const questions = serveHeard(nc, { ...common, snapshot });
  const own = followOwnConnections({ main: nc, hearing }, { ...common, engine, readAll: members.readAll });
  const stopTime = keepTime({ ...common, engine, isListening: () => own.away() === undefined });
  const lookAtInterval = () => aside.write(interval.adjust(), 'the interval could not be kept');
  const timers = [
    setInterval(lookAtInterval, lookAtIntervalMs),
    setInterval(members.lookAgain, lookAtMembersMs),
  ];
  const stopFloods = watchFloods({
    ...common,
    counts: [engine, receiver],
    aside,
    settings: { windowMs: config.floodWindow, perSecond: config.floodRate },
  });
  const { inForce } = interval;
  const stats = reportFigures(metrics, { snapshot, received: receiver.counts, inForce, notices, partition });
  return {
    stats,
    endpoints: [{ name: 'clusters', subject: heardSubject, requests: questions.asked }],
    degraded: notices.missing,
    notReady: () => own.away() ?? transitions.notReady(),
    async drain() {
      stopTime();
      stopFloods();
      for (const timer of timers) clearInterval(timer);
      questions.stop();
      notices.stop();
      await Promise.all([receiver.stop(), members.stop()]);
      await transitions.drain();
      await aside.settled();
      await hearing.close();
    },
  };
}

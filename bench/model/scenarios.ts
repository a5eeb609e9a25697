import { leaveAtOnce } from './leaving.ts';
import { joinMany } from './joins.ts';
import { claimsPushMs } from './key-cuts.ts';
import { startHeartbeatService, startProjector } from './restarts.ts';
import { liveOn } from './rest.ts';
import { lapsedPauseMs, loseConnections, returnLapsed, type Returns } from './returns.ts';
import type { Times } from './queues/times.ts';
import type { World } from './world.ts';

/** A time or a number that a scenario is about. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: 'ms' | 'a second' | 'agents' | 'clusters' | 'joins a second' | 'times';
}

export interface Scenario {
  readonly what: string;
  /** Lays down what happens, runs it to its end, and says what came of it. */
  run(world: World): readonly Figure[];
}

const figure = (what: string, value: number, unit: Figure['unit'] = 'ms'): Figure => ({ what, value, unit });
const timesOf = (what: string, times: Times): Figure[] => [
  figure(`${what}, p50`, times.quantileMs(0.5)),
  figure(`${what}, p99`, times.quantileMs(0.99)),
  figure(`${what}, last`, times.mostMs()),
];
export const lateHandshakes = 'handshakes that came too late';
/** Who is not back by then never is: its hub is too small for what comes again and again. */
const givenUpAfterMs = 4 * 3_600_000;
const returnsOf = (returns: Returns): Figure[] => [
  figure('back, p50', returns.quantileMs(0.5)),
  figure('back, p99', returns.quantileMs(0.99)),
  figure('back, last', returns.missing() > 0 ? Number.POSITIVE_INFINITY : returns.backMs.mostMs()),
  figure('in the busiest second', returns.mostInOneSecond(), 'agents'),
  figure(lateHandshakes, returns.late(), 'times'),
];

function outage(world: World, seconds: number): readonly Figure[] {
  const { clusters: agents, nats, timeline } = world;
  const returns = loseConnections(world, { agents, downServers: nats.length, backAtMs: seconds * 1000 });
  timeline.run(givenUpAfterMs);
  return returnsOf(returns);
}

const restMs = 600_000;

export const scenarios = {
  rest: {
    what: 'ten minutes of a healthy fleet: heartbeats, renewals, facts, access, a few that are lost or replaced',
    run(world) {
      liveOn(world, restMs);
      world.timeline.run(restMs);
      return [
        figure('heartbeats', world.heartbeatsPerSecond, 'a second'),
        figure('interval', world.heartbeatIntervalMs),
        figure('a key is taken back: one core of each server', claimsPushMs(world)),
      ];
    },
  },
  outage: {
    what: 'no NATS server for minutes, then all of them (outageSeconds)',
    run: (world) => outage(world, world.numbers.outageSeconds),
  },
  blink: {
    what: 'no NATS server for seconds, then all of them (blinkSeconds)',
    run: (world) => outage(world, world.numbers.blinkSeconds),
  },
  'server-lost': {
    what: 'one NATS server of several is gone, and its agents go to the others',
    run(world) {
      const { clusters, nats, timeline } = world;
      const agents = clusters / nats.length;
      const never = Number.POSITIVE_INFINITY;
      const backAtMs = nats.length > 1 ? never : world.numbers.blinkSeconds * 1000;
      const returns = loseConnections(world, { agents, downServers: 1, backAtMs });
      timeline.run(givenUpAfterMs);
      return returnsOf(returns);
    },
  },
  lapsed: {
    what: 'the credentials of all have ended without a registrar, and it comes back',
    run(world) {
      const { clusters: agents, random, timeline } = world;
      // Each knocks at some moment of its pause, for hours already.
      const startsAtMs = () => random.next() * lapsedPauseMs(world);
      const returns = returnLapsed(world, { agents, registrarBackAtMs: 0, startsAtMs });
      timeline.run(givenUpAfterMs);
      return returnsOf(returns);
    },
  },
  burst: {
    what: 'a share of the fleet joins at the same moment (joinShare)',
    run(world) {
      const count = world.clusters * world.numbers.joinShare;
      const times = joinMany(world, { count, everyMs: 0 });
      world.timeline.run();
      const perSecond = (times.count() * world.grain * 1000) / times.mostMs();
      return [...timesOf('first connection → Ready', times), figure('rate', perSecond, 'joins a second')];
    },
  },
  leaving: {
    what: 'a share of the fleet is deleted at the same moment, while nobody joins (leaveShare)',
    run(world) {
      const leavings = leaveAtOnce(world, world.clusters * world.numbers.leaveShare);
      world.timeline.run();
      return [...timesOf('key cut', leavings.cutMs), ...timesOf('gone', leavings.leftMs)];
    },
  },
  'heartbeat-restart': {
    what: 'a heartbeat service starts, while the other one goes on',
    run: (world) => untilReady(world, startHeartbeatService),
  },
  'projector-restart': {
    what: 'a projector starts, and compares everything',
    run: (world) => untilReady(world, startProjector),
  },
} as const satisfies Readonly<Record<string, Scenario>>;

function untilReady(world: World, start: (world: World, then: () => void) => void): readonly Figure[] {
  let readyMs = Number.NaN;
  start(world, () => (readyMs = world.timeline.nowMs()));
  world.timeline.run();
  return [figure('ready', readyMs)];
}

export type ScenarioName = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as ScenarioName[];

import type { BackOff } from '../../agent/hub/back-off.ts';
import { numbersOf } from './numbers/numbers.ts';
import { joinMany } from './joins.ts';
import { startHeartbeatService, startProjector } from './restarts.ts';
import { loseConnections, returnLapsed } from './returns.ts';
import { createWorld, type World } from './world.ts';

/** The model beside what was measured at a size that can be measured. */
export interface Comparison {
  readonly what: string;
  readonly unit: string;
  readonly measured: number;
  readonly simulated: number;
  readonly from: string;
  /** Why the two differ, where they do by half or more. */
  readonly why?: string;
}

interface Case {
  readonly what: string;
  readonly clusters: number;
  readonly from: string;
  readonly why?: string;
  readonly changed?: Readonly<Record<string, number>>;
  /** By what it says: unit, measured. */
  readonly measured: Readonly<Record<string, readonly [measured: number, unit: string]>>;
  simulate(world: World): Readonly<Record<string, number>>;
}

/** Told were 10; with 16 as many are refused as were then, so that is how fast they came. */
const lapsedEveryMs = 16;
const beginLapsed = (agent: number) => agent * lapsedEveryMs;
const results = 'bench/results/2026-11-2';

const burst = (count: number) => (world: World) => {
  const times = joinMany(world, { count, everyMs: 0 });
  world.timeline.run();
  return {
    'joins a second': (count * 1000) / times.mostMs(),
    p50: times.quantileMs(0.5) / 1000,
    p99: times.quantileMs(0.99) / 1000,
  };
};

const natsWorkedMs = ({ nats }: World) => nats.reduce((sum, process) => sum + process.workedMs(), 0);

/** What agents did before they were told over how long to return: a wait that doubles from one second to half a minute. */
const former = { firstMs: 1000, longestMs: 30_000 };

const herd = (backAtMs: number, patience?: BackOff) => (world: World) => {
  const told = patience ? { ...world, returnWithinMs: undefined } : world;
  const outage = { agents: world.clusters, downServers: 1, backAtMs, ...(patience ? { patience } : {}) };
  const returns = loseConnections(told, outage);
  world.timeline.run(3_600_000);
  return {
    p50: returns.backMs.quantileMs(0.5) / 1000,
    p99: returns.backMs.quantileMs(0.99) / 1000,
    last: returns.backMs.mostMs() / 1000,
    'busiest second': returns.mostInOneSecond(),
    'cores of the NATS server': natsWorkedMs(world) / (returns.backMs.mostMs() + backAtMs),
  };
};

const restart = (start: typeof startHeartbeatService) => (world: World) => {
  let readyMs = 0;
  start(world, () => (readyMs = world.timeline.nowMs()));
  world.timeline.run();
  return { ready: readyMs / 1000 };
};

const burst300 = `${results}2-ed0a142-changed-joins-burst-restart.json`;
const herd4000 = `${results}1-d4fed18-changed-herd.json`;

/** These fleets are in the stream alone. */
const withoutHeartbeats = { intervalSeconds: 1e9 };

const cases: readonly Case[] = [
  {
    what: '300 join at once',
    clusters: 300,
    from: burst300,
    measured: { 'joins a second': [28.5, '/s'], p50: [8.26, 's'], p99: [10.5, 's'] },
    simulate: burst(300),
  },
  {
    what: '1,000 join at once',
    clusters: 1000,
    from: `${results}1-d4fed18-changed-burst.json`,
    measured: { 'joins a second': [29.2, '/s'], p50: [24.1, 's'], p99: [34.1, 's'] },
    simulate: burst(1000),
  },
  {
    what: '100 join, four a second',
    clusters: 100,
    from: 'docs/scale.md, When many leave at once',
    why: 'costs are of a busy hub; one that does nothing between two joins takes longer for each, and not always as long',
    measured: { p50: [0.07, 's'], p99: [0.12, 's'] },
    simulate(world) {
      const times = joinMany(world, { count: 100, everyMs: 250 });
      world.timeline.run();
      return { p50: times.quantileMs(0.5) / 1000, p99: times.quantileMs(0.99) / 1000 };
    },
  },
  {
    what: '4,000 return, the server is away for 0.4 s',
    clusters: 4000,
    from: herd4000,
    measured: {
      p50: [10.3, 's'],
      p99: [20.1, 's'],
      last: [20.7, 's'],
      'busiest second': [292, ''],
      'cores of the NATS server': [0.456, ''],
    },
    simulate: herd(442),
  },
  {
    what: '4,000 return, the server is away for 20 s',
    clusters: 4000,
    from: herd4000,
    measured: {
      p50: [8.62, 's'],
      p99: [18.5, 's'],
      last: [19.6, 's'],
      'busiest second': [324, ''],
    },
    simulate: herd(20_336),
  },
  {
    what: '4,000 return with a back-off that doubles from one second',
    clusters: 4000,
    from: 'docs/decisions/0013-overload.md',
    why: 'a server works at all handshakes at the same time, so more of them come too late than of those that take turns',
    measured: { last: [120, 's'] },
    simulate: herd(442, former),
  },
  {
    what: '2,000 whose credentials have ended',
    clusters: 2000,
    from: `${results}1-d4fed18-changed-lapsed.json`,
    measured: {
      p50: [13.1, 's'],
      p99: [41.2, 's'],
      last: [43, 's'],
      refusals: [4996, ''],
      'cores of the NATS server': [0.433, ''],
    },
    simulate(world) {
      const registrarBackAtMs = 30_700;
      const returns = returnLapsed(world, { agents: 2000, registrarBackAtMs, startsAtMs: beginLapsed });
      world.timeline.run(registrarBackAtMs);
      const before = natsWorkedMs(world);
      world.timeline.run();
      return {
        p50: returns.backMs.quantileMs(0.5) / 1000,
        p99: returns.backMs.quantileMs(0.99) / 1000,
        last: returns.backMs.mostMs() / 1000,
        refusals: returns.refused(),
        'cores of the NATS server': (natsWorkedMs(world) - before) / returns.backMs.mostMs(),
      };
    },
  },
  ...[
    { clusters: 1000, ready: 0.687, from: burst300 },
    { clusters: 10_000, ready: 1.41, from: burst300 },
    { clusters: 100_000, ready: 10.2, from: burst300 },
    { clusters: 375_000, ready: 75, from: 'docs/decisions/0017-event-log.md' },
  ].map(({ clusters, ready, from }) => ({
    what: `a heartbeat service starts, ${clusters.toLocaleString('en')} clusters`,
    changed: withoutHeartbeats,
    clusters,
    from,
    measured: { ready: [ready, 's'] as const },
    simulate: restart(startHeartbeatService),
  })),
  {
    what: 'a projector compares 100,000 clusters',
    changed: withoutHeartbeats,
    clusters: 100_000,
    from: `${results}2-59f1768-changed-projector.json`,
    measured: { ready: [145, 's'] },
    simulate: restart(startProjector),
  },
];

/** Costs are of the machine of the bench: one with two cores, on which everything runs. */
const atHome = { roundTripMs: 0, storedMs: 1 };

export function validate(seed: number): Comparison[] {
  return cases.flatMap(({ what, clusters, from, why, changed, measured, simulate }) => {
    const world = createWorld({ numbers: numbersOf('bench', { ...atHome, ...changed }), clusters, seed });
    const simulated = simulate(world);
    return Object.entries(measured).map(([figure, [value, unit]]) => ({
      what: `${what}: ${figure}`,
      unit,
      measured: value,
      simulated: simulated[figure] ?? Number.NaN,
      from,
      ...(why === undefined ? {} : { why }),
    }));
  });
}

import { expect, test } from 'vitest';
import { judgeSoak, longRunMs } from './judge-soak.ts';
import type { SoakRecord, Took } from './soak-record.ts';
import type { Sample } from './take-sample.ts';

const minuteMs = 60_000;
const lastsMs = 2 * longRunMs;
const mebibyte = 2 ** 20;

function aSample(minute: number, change: Partial<Record<string, number>> = {}): Sample {
  const {
    memory = 100,
    descriptors = 40,
    timers = 30,
    subscriptions = 5000,
    consumers = 9,
    bytes = 800,
  } = change;
  const { events = minute * 100 } = change;
  return {
    atMs: minute * minuteMs,
    load: 1,
    processes: {
      projector: { life: 0, residentBytes: memory * mebibyte, descriptors, timers, heapBytes: 1, cpuMs: 1 },
    },
    servers: { connections: 1000, subscriptions, consumers },
    streams: { EVENTS: { messages: events, bytes: events * bytes, lastSequence: events } },
  };
}
const samplesOf = (changeAt: (minute: number) => Partial<Record<string, number>>) =>
  Array.from({ length: 60 }, (_, minute) => aSample(minute, changeAt(minute)));
const steadyTimes = (tookMs = 100): Took[] =>
  Array.from({ length: 60 }, (_, minute) => ({ atMs: minute * minuteMs, tookMs }));
const slowerAtTheEnd = steadyTimes().map((one) => (one.atMs > 50 * minuteMs ? { ...one, tookMs: 900 } : one));

function aRecord(overrides: Partial<SoakRecord> = {}): SoakRecord {
  return {
    lastsMs,
    samples: samplesOf(() => ({})),
    strikes: [{ target: 'projector 2', atMs: 1, awayMs: 2000 }],
    people: { done: { approve: 1 }, failed: [] },
    changes: 1,
    changedFacts: 1,
    wronged: { unreachable: [], suspect: [] },
    lossesTold: steadyTimes(),
    unreachable: steadyTimes(),
    joins: steadyTimes(),
    restless: [],
    deadLetters: [],
    findings: [],
    ownStalls: [],
    troubles: {},
    ...overrides,
  };
}
const brokenOf = (record: SoakRecord) =>
  judgeSoak(record)
    .filter(({ isGood }) => !isGood)
    .map(({ name }) => name);

test('an hour in which nothing grows is good', () => {
  expect(brokenOf(aRecord())).toEqual([]);
});

test('of several NATS servers it is no growth that one has what another had', () => {
  const server = (descriptors: number) => ({ life: 0, residentBytes: mebibyte, descriptors, cpuMs: 1 });
  const samplesWith = (more: (minute: number) => number) =>
    samplesOf(() => ({})).map((sample, minute) => ({
      ...sample,
      processes: { 'nats-server 1': server(100 - minute), 'nats-server 2': server(100 + more(minute)) },
    }));
  expect(brokenOf(aRecord({ samples: samplesWith((minute) => minute) }))).toEqual([]);
  const growing = aRecord({ samples: samplesWith((minute) => 2 * minute) });
  expect(brokenOf(growing)).toEqual(['descriptors of 2 NATS servers']);
});

test.each<{ broken: string; record: Partial<SoakRecord> }>([
  {
    broken: 'memory of projector',
    record: { samples: samplesOf((minute) => ({ memory: 100 + minute / 20 })) },
  },
  {
    broken: 'descriptors of projector',
    record: { samples: samplesOf((minute) => ({ descriptors: 40 + minute })) },
  },
  { broken: 'timers of projector', record: { samples: samplesOf((minute) => ({ timers: 30 + minute })) } },
  {
    broken: 'subscriptions',
    record: { samples: samplesOf((minute) => ({ subscriptions: 5000 + 30 * minute })) },
  },
  { broken: 'consumers', record: { samples: samplesOf((minute) => ({ consumers: 9 + minute })) } },
  {
    broken: 'events and their size',
    record: { samples: samplesOf((minute) => ({ bytes: minute < 40 ? 800 : 1600 })) },
  },
  {
    broken: 'events and their size',
    record: {
      samples: samplesOf((minute) => ({ events: minute < 40 ? minute * 100 : 4000 + (minute - 40) * 300 })),
    },
  },
  { broken: 'dead letters', record: { deadLetters: ['one'] } },
  { broken: 'findings of rollcall verify', record: { findings: ['one'] } },
  { broken: 'wrongly Unreachable', record: { wronged: { unreachable: ['a'], suspect: [] } } },
  { broken: 'not as they should be at the end', record: { restless: ['a is suspect'] } },
  {
    broken: 'decisions of people that never came to be',
    record: { people: { done: {}, failed: ['approve: not in time'] } },
  },
  { broken: 'killed, and there again', record: { strikes: [{ target: 'projector 2', atMs: 1 }] } },
  { broken: 'killed, and there again', record: { strikes: [] } },
  { broken: 'connection cut → told on the bus', record: { lossesTold: slowerAtTheEnd } },
  { broken: 'silent → Unreachable', record: { unreachable: slowerAtTheEnd } },
  { broken: 'agent started → joined', record: { joins: slowerAtTheEnd } },
  { broken: 'agent started → joined', record: { joins: [] } },
])('$broken is told, and nothing else', ({ broken, record }) => {
  expect(brokenOf(aRecord(record))).toEqual([broken]);
});

test('timers of a short run may be twice as many, and not more', () => {
  const short = { lastsMs: 59 * minuteMs * 0.4 };
  const samples = (timers: number) =>
    samplesOf((minute) => ({ timers: minute > 15 ? timers : 40 })).filter(
      ({ atMs }) => atMs <= short.lastsMs,
    );
  expect(brokenOf(aRecord({ ...short, samples: samples(80) }))).not.toContain('timers of projector');
  expect(brokenOf(aRecord({ ...short, samples: samples(81) }))).toContain('timers of projector');
});

test('of a short run times are told and not judged', () => {
  const short = aRecord({ lastsMs: minuteMs, joins: slowerAtTheEnd, unreachable: [] });
  expect(brokenOf(short)).not.toContain('agent started → joined');
  expect(brokenOf(short)).not.toContain('silent → Unreachable');
});

test('a short run may grow into its work, and not beyond', () => {
  const short = { lastsMs: 59 * minuteMs * 0.4 };
  const samples = (factor: number) =>
    samplesOf((minute) => ({ memory: minute > 15 ? 100 * factor : 100 })).filter(
      ({ atMs }) => atMs <= short.lastsMs,
    );
  expect(brokenOf(aRecord({ ...short, samples: samples(1.3) }))).not.toContain('memory of projector');
  expect(brokenOf(aRecord({ ...short, samples: samples(1.6) }))).toContain('memory of projector');
});

import { expect, test } from 'vitest';
import { fleetFigures, rate } from './fleet-figures.ts';
import type { FleetSample } from './fleet-sample.ts';
import { frame } from './frame.ts';

const answer = (name: string, figures: Record<string, number>) => ({
  name,
  id: name,
  version: '0.1.0',
  started: '',
  figures: { ready: 1, ...figures },
});

const aSample = (change: Partial<FleetSample> = {}): FleetSample => ({
  atMs: 10_000,
  answers: [
    answer('heartbeat', { clustersReady: 3, clustersUnreachable: 1, heartbeats: 100 }),
    answer('projector', { waitingRequests: 2, oldestWaitingSeconds: 90, lagSeconds: 0.05 }),
  ],
  lastSequence: 50,
  joinedAtMs: [9000],
  ...change,
});

const textOf = (sample: FleetSample, before?: FleetSample) =>
  frame(fleetFigures(sample, before, 'h:1'), { isColoured: false }).join('\n');

test('a frame says how many clusters are in which state, who waits, and what goes on', () => {
  const before = aSample({ atMs: 8000, lastSequence: 30 });
  const text = textOf(
    aSample({
      answers: [...aSample().answers.slice(1), answer('heartbeat', { clustersReady: 4, heartbeats: 110 })],
    }),
    before,
  );
  expect(text).toMatch(/^Clusters +4$/m);
  expect(text).toMatch(/^ {2}ready +4 {2}█{30}$/m);
  expect(text).toMatch(/^Joins +1 in the last minute$/m);
  expect(text).toMatch(/^Waiting requests +2, the oldest for 1m30s$/m);
  expect(text).toMatch(/^Heartbeats +5\.0 \/s$/m);
  expect(text).toMatch(/^Events +10\.0 \/s, 50 in all$/m);
  expect(text).toMatch(/account-controller 0\/0/);
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});

test('the first frame knows no rates, and a hub without services no clusters', () => {
  const text = textOf(aSample({ answers: [], lastSequence: undefined }));
  expect(text).toMatch(/^Clusters +-$/m);
  expect(text).toMatch(/^Heartbeats +- \/s$/m);
  expect(text).toMatch(/^Waiting requests +-$/m);
});

test.each([
  { name: 'a counter that began anew', now: 1, before: 5, elapsedMs: 1000 },
  { name: 'no time between', now: 5, before: 1, elapsedMs: 0 },
])('$name has no rate', ({ now, before, elapsedMs }) => {
  expect(rate(now, before, elapsedMs)).toBeUndefined();
});

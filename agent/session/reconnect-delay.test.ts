import { expect, test } from 'vitest';
import { boundedReturn, type Cut, lapsedDelayMs, reconnectWaitMs } from './reconnect-delay.ts';

const patience = { firstMs: 1000, longestMs: 10_000 };
const aCut = (more: Partial<Cut>): Cut => ({
  failures: 1,
  unanswered: 0,
  random: 1,
  isAlone: false,
  heartbeatIntervalMs: 15_000,
  returnWithinMs: undefined,
  isLapsed: false,
  ...more,
});

test.each([
  { name: 'a lost connection in a small fleet', more: {}, want: 1000 },
  { name: 'a hub that is away', more: { failures: 30 }, want: 10_000 },
  { name: 'a hub that does not listen for a moment', more: { failures: 11, unanswered: 10 }, want: 1629 },
  { name: 'a hub that does not listen for long', more: { failures: 101, unanswered: 100 }, want: 10_000 },
  { name: 'one that listens again, and is late', more: { failures: 13, unanswered: 10 }, want: 6516 },
  { name: 'an agent that begins while nobody listens', more: { failures: 1, unanswered: 1 }, want: 1050 },
  {
    name: 'a hub of many that does not listen',
    more: { failures: 11, unanswered: 10, returnWithinMs: 20_000 },
    want: 20_000,
  },
  {
    name: 'credentials that have ended, and nobody listens',
    more: { failures: 11, unanswered: 10, isLapsed: true },
    want: 20_000,
  },
  { name: 'a lost connection in a fleet of 1,000', more: { returnWithinMs: 5000 }, want: 5000 },
  { name: 'a lost connection in a fleet of 4,000', more: { returnWithinMs: 20_000 }, want: 20_000 },
  { name: 'one that the server ended', more: { returnWithinMs: 20_000, isAlone: true }, want: 1000 },
  { name: 'a lost connection in a huge fleet', more: { returnWithinMs: 3_600_000 }, want: 30_000 },
  { name: 'a hub of many that is away', more: { failures: 2, returnWithinMs: 640_000 }, want: 640_000 },
  {
    name: 'the luckiest of them',
    more: { failures: 2, random: 0, returnWithinMs: 640_000 },
    want: 320_000,
  },
  {
    name: 'a hub of many that is away for a long time',
    more: { failures: 30, returnWithinMs: 640_000 },
    want: 640_000,
  },
  {
    name: 'a hub that says less than it waits anyway',
    more: { failures: 30, returnWithinMs: 1000 },
    want: 10_000,
  },
  {
    name: 'credentials that have ended',
    more: { failures: 30, returnWithinMs: 20_000, isLapsed: true },
    want: 40_000,
  },
])('$name: waits at most $want ms', ({ more, want }) => {
  expect(reconnectWaitMs(patience, aCut(more))).toBe(want);
});

test.each([0, 5000, 180_000])(
  'of those who lost the hub together for %i ms no more come in a second than it may be',
  (awayMs) => {
    const [clusters, returnWithinMs] = [4000, 20_000];
    const comesInSecond = Array.from({ length: 21 }, () => 0);
    let seed = 1;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let agent = 0; agent < clusters; agent++) {
      let atMs = -1;
      for (let failures = 1; atMs < awayMs; failures++)
        atMs += 1 + reconnectWaitMs(patience, aCut({ failures, random: random(), returnWithinMs }));
      comesInSecond[Math.floor((atMs - awayMs) / 1000)]!++;
    }
    expect(Math.max(...comesInSecond)).toBeLessThan(1.5 * 1.25 * (clusters / (returnWithinMs / 1000)));
    expect(comesInSecond.reduce((sum, count) => sum + count)).toBe(clusters);
  },
);

test.each([2000, 10_000, 60_000])(
  'a small fleet whose hub listens again after %i ms is back within a fifth of that, and a second',
  (awayMs) => {
    let seed = 1;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let agent = 0; agent < 800; agent++) {
      let atMs = 0;
      for (let failures = 1; atMs < awayMs; failures++)
        atMs += 1 + reconnectWaitMs(patience, aCut({ failures, unanswered: failures - 1, random: random() }));
      expect(atMs - awayMs).toBeLessThan(1000 + awayMs / 5);
    }
  },
);

test.each([
  { name: 'in a small fleet', refusedRetryMs: 300_000, returnWithinMs: undefined, want: 60_000 },
  { name: 'in a fleet of 10,000', refusedRetryMs: 300_000, returnWithinMs: 40_000, want: 80_000 },
  { name: 'in a huge fleet', refusedRetryMs: 300_000, returnWithinMs: 640_000, want: 1_280_000 },
  { name: 'with less patience', refusedRetryMs: 1000, returnWithinMs: undefined, want: 1000 },
])('a lapsed member $name is refused and rests for $want ms', ({ refusedRetryMs, returnWithinMs, want }) => {
  expect(lapsedDelayMs(refusedRetryMs, returnWithinMs)).toBe(want);
});

test.each([
  { said: undefined, want: undefined },
  { said: Number.NaN, want: undefined },
  { said: -1, want: 1000 },
  { said: 20_000, want: 20_000 },
  { said: 1e15, want: 3_600_000 },
])('a hub that says $said is understood as $want', ({ said, want }) => {
  expect(boundedReturn(said)).toBe(want);
});

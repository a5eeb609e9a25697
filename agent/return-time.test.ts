import { expect, test } from 'vitest';
import { boundedReturn, reconnectWaitMs } from './return-time.ts';

const patience = { firstMs: 1000, longestMs: 10_000 };
const about = (more: Partial<Parameters<typeof reconnectWaitMs>[1]>) => ({
  failures: 1,
  random: 1,
  beatIntervalMs: 15_000,
  returnWithinMs: undefined,
  isLapsed: false,
  ...more,
});

test.each([
  { name: 'a lost connection in a small fleet', more: {}, want: 1000 },
  { name: 'a lost connection in a fleet of 4,000', more: { returnWithinMs: 20_000 }, want: 1000 },
  { name: 'a lost connection in a fleet of 20,000', more: { returnWithinMs: 80_000 }, want: 4000 },
  { name: 'a lost connection in a huge fleet', more: { returnWithinMs: 3_600_000 }, want: 7500 },
  { name: 'a hub that is away', more: { failures: 30 }, want: 10_000 },
  { name: 'a hub of many that is away', more: { failures: 30, returnWithinMs: 640_000 }, want: 640_000 },
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
  { name: 'the lucky one', more: { failures: 30, random: 0 }, want: 0 },
])('$name waits at most $want ms', ({ more, want }) => {
  expect(reconnectWaitMs(patience, about(more))).toBe(want);
});

test('of those who lost the hub together no more come in a second than the hub said', () => {
  const [clusters, returnsPerSecond] = [20_000, 500];
  const returnWithinMs = (clusters / returnsPerSecond) * 2000;
  const comesInSecond = Array.from({ length: 200 }, () => 0);
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let agent = 0; agent < clusters; agent++) {
    // The hub is back after three minutes.
    let atMs = -180_000;
    for (let failures = 1; atMs < 0; failures++)
      atMs += reconnectWaitMs(patience, about({ failures, random: random(), returnWithinMs }));
    comesInSecond[Math.floor(atMs / 1000)]!++;
  }
  expect(Math.max(...comesInSecond)).toBeLessThan(returnsPerSecond * 1.2);
  expect(comesInSecond.slice(returnWithinMs / 1000).every((count) => count === 0)).toBe(true);
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

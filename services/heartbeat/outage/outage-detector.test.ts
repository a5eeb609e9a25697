import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutageGuard } from './outage-detector.ts';

const settings = { share: 0.3, minimum: 10, windowMs: 15_000, deadlineMs: 300_000 };

function aGuard(silent: { count: number; atMs?: number }): OutageGuard {
  const guard = new OutageGuard(settings);
  for (let one = 0; one < silent.count; one++) guard.fellSilent(silent.atMs ?? 1000);
  return guard;
}

test.each([
  { name: 'three clusters of three', count: 3, known: 3, nowMs: 1000, want: undefined },
  { name: 'exactly the minimum', count: 10, known: 12, nowMs: 1000, want: undefined },
  { name: 'one more than the minimum', count: 11, known: 12, nowMs: 1000, want: 'begins' },
  { name: 'exactly the share', count: 30, known: 100, nowMs: 1000, want: undefined },
  { name: 'one more than the share', count: 31, known: 100, nowMs: 1000, want: 'begins' },
  { name: 'many, but longer ago than the window', count: 90, known: 100, nowMs: 17_000, want: undefined },
])('$name: $want', ({ count, known, nowMs, want }) => {
  expect(aGuard({ count }).judge(nowMs, known)).toBe(want);
});

test('it ends when half are heard again, and once', () => {
  const guard = aGuard({ count: 40 });
  expect(guard.judge(1000, 100)).toBe('begins');
  for (let one = 0; one < 19; one++) guard.heardAgain(1000, 2000);
  expect(guard.judge(2000, 100)).toBeUndefined();
  expect(guard.holding).toBe(true);
  guard.heardAgain(1000, 2000);
  expect(guard.judge(2000, 100)).toBe('ends');
  expect(guard.judge(2000, 100)).toBeUndefined();
});

test('it ends at the deadline and does not begin again for the same silence', () => {
  const guard = aGuard({ count: 40 });
  guard.judge(1000, 100);
  expect(guard.judge(300_999, 100)).toBeUndefined();
  expect(guard.judge(301_000, 100)).toBe('ends');
  expect(guard.judge(301_050, 100)).toBeUndefined();
});

test.each([0, 5000])('one whose deadline is %i ms, shorter than the window, begins once', (deadlineMs) => {
  const guard = new OutageGuard({ ...settings, deadlineMs });
  for (let one = 0; one < 100; one++) guard.fellSilent(1000);
  const begun = [];
  for (let nowMs = 1000; nowMs < 60_000; nowMs += 50)
    if (guard.judge(nowMs, 100) === 'begins') begun.push(nowMs);
  expect(begun).toEqual([1000]);
});

test('after a deadline that is shorter than the window, others who fall silent begin another one', () => {
  const guard = new OutageGuard({ ...settings, deadlineMs: 5000 });
  const fallSilent = (atMs: number) => Array.from({ length: 40 }, () => guard.fellSilent(atMs));
  fallSilent(1000);
  guard.judge(1000, 100);
  fallSilent(4000);
  expect([guard.judge(6000, 100), guard.judge(6050, 100)]).toEqual(['ends', 'begins']);
  for (let one = 0; one < 40; one++) guard.heardAgain(1000, 7000);
  expect(guard.judge(7000, 100)).toBe('ends');
  fallSilent(30_000);
  expect(guard.judge(30_000, 100)).toBe('begins');
});

test('an outage found at the start lasts until its deadline', () => {
  const guard = new OutageGuard(settings);
  guard.hold(1000, true);
  expect(guard.judge(2000, 100)).toBeUndefined();
  expect(guard.judge(301_000, 100)).toBe('ends');
});

test('whatever comes and goes, the counts never go below nothing', () => {
  const event = fc.record({ afterMs: fc.nat(8000), back: fc.boolean() });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const guard = new OutageGuard({ ...settings, minimum: 0, share: 0 });
      const silentSince: number[] = [];
      let nowMs = 0;
      for (const { afterMs, back } of events) {
        nowMs += afterMs;
        const sinceMs = back ? silentSince.shift() : undefined;
        if (sinceMs !== undefined) guard.heardAgain(sinceMs, nowMs);
        else {
          guard.fellSilent(nowMs);
          silentSince.push(nowMs);
        }
        expect(guard.silent).toBe(silentSince.length);
      }
      // With everybody back, nothing is left in the window that could begin an outage.
      for (const sinceMs of silentSince) guard.heardAgain(sinceMs, nowMs);
      expect(guard.judge(nowMs, 0)).toBeUndefined();
    }),
  );
});

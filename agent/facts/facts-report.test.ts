import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Facts } from '@rollcall/shared/bus';
import { createFactsReport } from './facts-report.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A hub that takes everything as long as it is there and not full, and a member whose nodes come and go. */
function aReport() {
  const world = { nodes: 1, isThere: true, isFull: false };
  const heard: number[] = [];
  const facts = (): Facts => ({ nodes: { total: world.nodes, ready: 0, schedulable: 0 } });
  const report = createFactsReport({
    intervalMs: 300_000,
    read: async () => facts(),
    latest: facts,
    send(sent) {
      if (!world.isThere) return undefined;
      const requestId = String(heard.push(sent.nodes?.total ?? -1));
      if (!world.isFull) queueMicrotask(() => report.confirmed(requestId));
      return requestId;
    },
  });
  return { world, heard, report };
}

test('what changes together is told once, seconds after it began', async () => {
  const { world, heard, report } = aReport();
  report.sent({ nodes: { total: 1, ready: 0, schedulable: 0 } }, 'join');
  report.confirmed('join');
  report.start(0);
  await vi.advanceTimersByTimeAsync(0);
  expect(heard).toEqual([]);
  for (world.nodes = 2; world.nodes < 5; world.nodes++) {
    report.changed();
    await vi.advanceTimersByTimeAsync(300);
  }
  await vi.advanceTimersByTimeAsync(100);
  expect(heard).toEqual([5]);
  report.stop();
});

test('a member that changes all the time is told of every ten seconds', async () => {
  const { world, heard, report } = aReport();
  report.start(0);
  for (; world.nodes < 300; world.nodes++) {
    report.changed();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(heard.length).toBe(1 + 3);
  report.stop();
});

test('a change that changes nothing is not told', async () => {
  const { heard, report } = aReport();
  report.start(0);
  await vi.advanceTimersByTimeAsync(0);
  report.changed();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heard).toEqual([1]);
  report.stop();
});

test('what could not be sent is told when the connection is back', async () => {
  const { world, heard, report } = aReport();
  report.start(0);
  await vi.advanceTimersByTimeAsync(0);
  world.isThere = false;
  world.nodes = 2;
  report.changed();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(heard).toEqual([1]);
  world.isThere = true;
  report.start(0);
  await vi.advanceTimersByTimeAsync(1000);
  expect(heard).toEqual([1, 2]);
  report.stop();
});

test('nothing is told before the first round, or after the end', async () => {
  const { world, heard, report } = aReport();
  report.changed();
  await vi.advanceTimersByTimeAsync(20_000);
  report.start(0);
  await vi.advanceTimersByTimeAsync(0);
  world.nodes = 2;
  report.changed();
  report.stop();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(heard).toEqual([1]);
});

test.each([
  { of: 'something else, such as a renewal', answered: 'renewal' },
  { of: 'what was told before', answered: '1' },
])('what the hub has not taken is told again after an answer to $of', async ({ answered }) => {
  const { world, heard, report } = aReport();
  world.isFull = true;
  report.start(0);
  await vi.advanceTimersByTimeAsync(0);
  world.nodes = 2;
  report.changed();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(heard).toEqual([1, 2]);
  report.confirmed(answered);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(heard).toEqual([1, 2, 2]);
  report.stop();
});

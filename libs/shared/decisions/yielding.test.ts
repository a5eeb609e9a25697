import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { yielding } from './yielding.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that the test ends by itself. */
function byHand({ burst = 1, perSecond = 2 } = {}) {
  let isBusy = false;
  const inTurn = yielding({ mustYield: () => isBusy, atOnce: 2, perSecond, burst });
  const begun: number[] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  const outcomes: string[] = [];
  const setBusy = (value: boolean) => {
    isBusy = value;
  };
  async function add(count: number): Promise<void> {
    for (let added = 0; added < count; added++) {
      const at = ends.push(Promise.withResolvers<void>()) - 1;
      const work = inTurn(() => {
        begun.push(at);
        return ends[at]?.promise ?? Promise.resolve();
      });
      work.then(
        () => outcomes.push('done'),
        () => outcomes.push('failed'),
      );
    }
    await vi.advanceTimersByTimeAsync(0);
  }
  async function end(at: number, error?: Error): Promise<void> {
    if (error) ends[at]?.reject(error);
    else ends[at]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
  }
  return { add, end, begun, outcomes, setBusy };
}

test('while nobody needs the machine so many are done at a time, in their order, and a failure gives its place back', async () => {
  const { add, end, begun, outcomes } = byHand();
  await add(4);
  expect(begun).toEqual([0, 1]);
  await end(1, new Error('failed'));
  expect(begun).toEqual([0, 1, 2]);
  await end(0);
  await end(2);
  await end(3);
  expect(begun).toEqual([0, 1, 2, 3]);
  expect(outcomes).toEqual(['failed', 'done', 'done', 'done']);
});

test('while it yields one is done at a time, and so many begin a second', async () => {
  const { add, end, begun, setBusy } = byHand();
  setBusy(true);
  await add(3);
  expect(begun).toEqual([0]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(begun).toEqual([0]);
  await end(0);
  expect(begun).toEqual([0, 1]);
  await end(1);
  await vi.advanceTimersByTimeAsync(499);
  expect(begun).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual([0, 1, 2]);
});

test('a few are not held up, also after a mass that nobody was in the way of', async () => {
  const { add, end, begun, setBusy } = byHand({ burst: 3 });
  await add(20);
  for (let at = 0; at < 20; at++) await end(at);
  await vi.advanceTimersByTimeAsync(1500);
  setBusy(true);
  begun.length = 0;
  await add(4);
  for (const at of [20, 21, 22]) await end(at);
  expect(begun).toEqual([20, 21, 22]);
  await vi.advanceTimersByTimeAsync(500);
  expect(begun).toEqual([20, 21, 22, 23]);
});

test('it goes on at full speed when whoever needed the machine is gone', async () => {
  const { add, end, begun, setBusy } = byHand();
  setBusy(true);
  await add(4);
  await end(0);
  setBusy(false);
  await vi.advanceTimersByTimeAsync(500);
  expect(begun).toEqual([0, 1, 2]);
});

test('that they are gone is seen at once, however rare its turns were', async () => {
  const { add, end, begun, setBusy } = byHand({ perSecond: 0.1 });
  setBusy(true);
  await add(4);
  await end(0);
  await vi.advanceTimersByTimeAsync(4000);
  expect(begun).toEqual([0]);
  setBusy(false);
  await vi.advanceTimersByTimeAsync(500);
  expect(begun).toEqual([0, 1, 2]);
});

import { setImmediate as turn } from 'node:timers/promises';
import type { Logger } from '@rollcall/shared/service';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createReconciler } from './reconciler.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

const warn = vi.fn<Logger['warn']>();
const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn, error: silent, child: () => logger };

test('wakes while one look runs become one more look, never two at a time', async () => {
  const gates: (() => void)[] = [];
  const looks: string[] = [];
  const reconciler = createReconciler({
    logger,
    async handle(key) {
      looks.push(key);
      const { promise, resolve } = Promise.withResolvers<void>();
      gates.push(resolve);
      await promise;
    },
  });
  for (const key of ['a', 'a', 'b', 'a']) reconciler.wake(key);
  expect(looks).toEqual(['a', 'b']);
  for (const open of gates.splice(0)) open();
  await turn();
  expect(looks).toEqual(['a', 'b', 'a']);
  for (const open of gates) open();
  await reconciler.drain();
});

test('what failed is looked at again, until it works', async () => {
  let failures = 2;
  const reconciler = createReconciler({
    logger,
    async handle() {
      if (failures-- > 0) throw new Error('not now');
    },
  });
  reconciler.wake('a');
  for (let round = 0; round < 3; round++) {
    await turn();
    await vi.runAllTimersAsync();
  }
  expect(failures).toBe(-1);
  expect(warn).toHaveBeenCalledTimes(2);
  await reconciler.drain();
});

test('draining waits for what runs and forgets what waits for its next try', async () => {
  let looks = 0;
  const reconciler = createReconciler({
    logger,
    async handle() {
      looks++;
      throw new Error('never');
    },
  });
  reconciler.wake('a');
  await turn();
  await reconciler.drain();
  await vi.runAllTimersAsync();
  reconciler.wake('a');
  expect(looks).toBe(1);
});

test('who is woken a hundred times while it fails is tried no more often afterwards', async () => {
  let looks = 0;
  const reconciler = createReconciler({
    logger,
    async handle() {
      looks++;
      throw new Error('not yet');
    },
  });
  for (let wakes = 0; wakes < 100; wakes++) {
    reconciler.wake('a');
    await turn();
  }
  const before = looks;
  // Longer than any delay; timers of others in this process are none of ours.
  vi.advanceTimersByTime(30_000);
  await turn();
  expect(looks - before).toBe(1);
  await reconciler.drain();
});

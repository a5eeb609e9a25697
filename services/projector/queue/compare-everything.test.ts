import { RollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { createComparison } from './compare-everything.ts';

const logger = { info: () => undefined, warn: () => undefined } as unknown as Logger;
const busAway = new RollcallError('BUS_UNREACHABLE', 'the bus did not answer');

test('a comparison that fails is tried again ever more rarely, and says so until it succeeds', async () => {
  const waits: number[] = [];
  const said: (string | undefined)[] = [];
  const comparison = createComparison({
    logger,
    signal: new AbortController().signal,
    async markAll() {
      if (waits.length < 12) throw busAway;
      return 1;
    },
    async wait(ms) {
      waits.push(ms);
      said.push(comparison.problem());
    },
  });
  await comparison.run();
  expect(waits.slice(0, 3)).toEqual([1000, 2000, 4000]);
  expect(waits.slice(-2)).toEqual([60_000, 60_000]);
  expect(new Set(said)).toEqual(new Set([busAway.message]));
  expect([comparison.failures(), comparison.problem()]).toEqual([0, undefined]);
});

test('who asks while it waits has it tried at once', async () => {
  let tries = 0;
  const waiting = Promise.withResolvers<void>();
  const comparison = createComparison({
    logger,
    signal: new AbortController().signal,
    async markAll() {
      if (++tries === 1) throw busAway;
      return 1;
    },
    wait() {
      waiting.resolve();
      return new Promise(() => undefined);
    },
  });
  const first = comparison.run();
  await waiting.promise;
  await Promise.all([first, comparison.run()]);
  expect(tries).toBe(3);
});

test('it ends when the projector stops', async () => {
  const ending = new AbortController();
  const comparison = createComparison({
    logger,
    signal: ending.signal,
    async markAll() {
      ending.abort(new Error('stopping'));
      throw busAway;
    },
  });
  await expect(comparison.run()).rejects.toThrow('aborted');
  expect(comparison.failures()).toBe(1);
});

import { expect, test } from 'vitest';
import { latestOnly } from './latest-only.ts';

test('of many questions the first is ended, and only the last is begun after it', async () => {
  const latest = latestOnly(new AbortController().signal);
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  const ask = (number: number) =>
    latest(async (signal) => {
      begun.push(number);
      most = Math.max(most, ++running);
      const ended = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => ended.resolve());
      if (number < 4) await ended.promise;
      running--;
      return number;
    }).catch((error: Error) => error.message);
  const first = ask(1);
  await Promise.resolve();
  await Promise.resolve();
  const answers = await Promise.all([first, ask(2), ask(3), ask(4)]);
  const overtaken = expect.stringContaining('another one was asked for');
  expect(answers).toEqual([1, overtaken, overtaken, 4]);
  expect([begun, most]).toEqual([[1, 4], 1]);
});

test('what the work throws is what comes, and with the console everything ends', async () => {
  const ending = new AbortController();
  const latest = latestOnly(ending.signal);
  await expect(latest(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  ending.abort();
  await expect(latest(async () => 1)).rejects.toThrow('the console ends');
});

import { expect, test } from 'vitest';
import { allArrived } from './all-arrived.ts';

test('all results, in order', async () => {
  expect(await allArrived([Promise.resolve(1), Promise.resolve('two')])).toEqual([1, 'two']);
});

test('a failure waits for what is still on its way', async () => {
  const slow = Promise.withResolvers<string>();
  let hasEnded = false;
  const both = allArrived([Promise.reject(new Error('refused')), slow.promise]).finally(() => {
    hasEnded = true;
  });
  both.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasEnded).toBe(false);
  slow.resolve('made');
  await expect(both).rejects.toThrow('refused');
});

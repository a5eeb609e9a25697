import { expect, test } from 'vitest';
import { inParallel } from './in-parallel.ts';

test('results are in the order of the items, whichever is done first', async () => {
  const { promise: secondIsDone, resolve } = Promise.withResolvers<void>();
  const work = async (item: number) => {
    if (item === 1) await secondIsDone;
    if (item === 2) resolve();
    return item * 10;
  };
  expect(await inParallel([1, 2, 3], 2, work)).toEqual([10, 20, 30]);
});

test('after one that throws no other is begun', async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    if (item === 1) throw new Error('refused');
  };
  await expect(inParallel([1, 2, 3, 4, 5, 6], 2, work)).rejects.toThrow('refused');
  expect(begun).toEqual([1, 2]);
});

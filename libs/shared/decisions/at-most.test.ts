import { expect, test } from 'vitest';
import { atMost } from './at-most.ts';

test('so many are done at a time, the others in their order, and a failure gives its place back', async () => {
  const inTurn = atMost(2);
  const begun: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const works = ends.map(({ promise }, at) =>
    inTurn(async () => {
      begun.push(at);
      await promise;
      return at;
    }),
  );
  const outcomes = Promise.allSettled(works);
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error('failed'));
  await works[1]?.catch(() => undefined);
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  expect((await outcomes).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  expect(begun).toEqual([0, 1, 2, 3]);
  expect(await inTurn(() => Promise.resolve('later'))).toBe('later');
});

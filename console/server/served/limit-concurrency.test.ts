import { expect, test } from 'vitest';
import { limitConcurrency } from './limit-concurrency.ts';

test('so many works run at once, and the others in the order in which they came', async () => {
  const limited = limitConcurrency(2);
  const begun: number[] = [];
  const works = [1, 2, 3, 4, 5].map((number) => ({ number, ...Promise.withResolvers<number>() }));
  const all = works.map(({ number, promise }) =>
    limited(() => {
      begun.push(number);
      return promise;
    }),
  );
  expect(begun).toEqual([1, 2]);
  works[1]?.resolve(2);
  await all[1];
  await expect.poll(() => begun).toEqual([1, 2, 3]);
  for (const { number, resolve } of works) resolve(number);
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4, 5]);
  expect(begun).toEqual([1, 2, 3, 4, 5]);
});

test('who comes when one ends is not before who waits, and a work that throws keeps nobody out', async () => {
  const limited = limitConcurrency(1);
  const first = Promise.withResolvers<never>();
  const begun: string[] = [];
  const failing = limited(() => first.promise);
  const waits = limited(async () => begun.push('waits'));
  const comes = failing.catch(() => limited(async () => begun.push('comes')));
  first.reject(new Error('broken'));
  await expect(failing).rejects.toThrow('broken');
  await Promise.all([waits, comes]);
  expect(begun).toEqual(['waits', 'comes']);
  expect(await limited(async () => 'free')).toBe('free');
});

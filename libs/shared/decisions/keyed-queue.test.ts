import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeyedQueue } from './keyed-queue.ts';

test('work of one key never overlaps and keeps its order, that of others does not wait', async () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), keys, async (scheduler, work) => {
      const queue = createKeyedQueue();
      const done: Record<string, number[]> = {};
      const busy = new Set<string>();
      const all = work.map((key, at) =>
        queue(key, async () => {
          expect(busy.has(key)).toBe(false);
          busy.add(key);
          await scheduler.schedule(Promise.resolve());
          busy.delete(key);
          (done[key] ??= []).push(at);
        }),
      );
      await scheduler.waitFor(Promise.all(all));
      for (const [key, order] of Object.entries(done)) {
        expect(order).toEqual(work.flatMap((other, at) => (other === key ? [at] : [])));
      }
    }),
  );
});

test('work that fails tells its caller and lets the next one run', async () => {
  const queue = createKeyedQueue();
  const failed = queue('a', () => Promise.reject(new Error('first')));
  const next = queue('a', () => Promise.resolve('second'));
  await expect(failed).rejects.toThrow('first');
  await expect(next).resolves.toBe('second');
});

test('another key does not wait for one that hangs', async () => {
  const queue = createKeyedQueue();
  void queue('a', () => new Promise(() => undefined));
  await expect(queue('b', () => Promise.resolve('free'))).resolves.toBe('free');
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RollcallError } from '@rollcall/shared/errors';
import { createWorkQueue, type Pass } from './work-queue.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const shown: Pass = { isShown: true };

/** What a promise is rejected with, listened for from now on. */
function rejectionOf(promise: Promise<void>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Passes that the test ends by itself. */
function byHand(
  concurrency = 4,
  departureInTurn: (pass: () => Promise<Pass>) => Promise<Pass> = (pass) => pass(),
) {
  const begun: { key: string; end: PromiseWithResolvers<Pass> }[] = [];
  const sizes: number[] = [];
  const errors: unknown[] = [];
  const objects = createWorkQueue({
    concurrency,
    pass: (key) => {
      const end = Promise.withResolvers<Pass>();
      begun.push({ key, end });
      return end.promise;
    },
    departureInTurn,
    onSize: (size) => sizes.push(size),
    onError: (_key, error) => errors.push(error),
    retryInMs: (_error, failures) => failures * 100,
  });
  const end = async (index: number, how: Pass | Error = shown) => {
    if (how instanceof Error) begun[index]?.end.reject(how);
    else begun[index]?.end.resolve(how);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { objects, begun, sizes, errors, end, keys: () => begun.map(({ key }) => key) };
}

test('a burst during a pass becomes one more pass, and never two at once', async () => {
  const { objects, end, keys, sizes } = byHand();
  objects.mark('a');
  for (let index = 0; index < 10; index++) objects.mark('a');
  expect(keys()).toEqual(['a']);
  await end(0);
  expect(keys()).toEqual(['a', 'a']);
  await end(1);
  expect(keys()).toEqual(['a', 'a']);
  expect(sizes.at(-1)).toBe(0);
});

test('whoever waits is told only by a pass that began after the request', async () => {
  const { objects, end } = byHand();
  objects.mark('a');
  let isDone = false;
  const waiting = objects.project('a').then(() => (isDone = true));
  await end(0);
  expect(isDone).toBe(false);
  await end(1);
  expect(await waiting).toBe(true);
});

test('what is not shown yet is looked at again, and then whoever waits is told', async () => {
  const { objects, end, keys } = byHand();
  const waiting = objects.project('a');
  await end(0, { isShown: false, againInMs: 150 });
  await vi.advanceTimersByTimeAsync(149);
  expect(keys()).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  await end(1);
  await expect(waiting).resolves.toBeUndefined();
});

test('a mark during the wait does not wait', async () => {
  const { objects, end, keys } = byHand();
  objects.mark('a');
  await end(0, { isShown: false, againInMs: 1000 });
  objects.mark('a');
  expect(keys()).toHaveLength(2);
  await end(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(keys()).toHaveLength(2);
});

test('a failure reaches whoever waits, and is tried again later, or when it may help', async () => {
  const { objects, end, keys, errors } = byHand();
  const away = new RollcallError('KUBE_UNREACHABLE', 'away');
  const refused = rejectionOf(objects.project('a'));
  await end(0, away);
  expect(await refused).toBe(away);
  await vi.advanceTimersByTimeAsync(100);
  expect(keys()).toHaveLength(2);
  await end(1, away);
  objects.retryFailed();
  expect(keys()).toHaveLength(3);
  await end(2);
  objects.retryFailed();
  expect(keys()).toHaveLength(3);
  expect(errors).toEqual([away, away]);
});

test('events go before facts, and facts before counts, also for an object that waits as something less', async () => {
  const { objects, end, keys } = byHand(1);
  objects.mark('running');
  objects.mark('set', 'count');
  for (const key of ['a', 'b', 'c']) objects.mark(key, 'fact');
  objects.mark('urgent');
  objects.mark('c');
  for (let index = 0; index < 6; index++) await end(index);
  expect(keys()).toEqual(['running', 'urgent', 'c', 'a', 'b', 'set']);
});

test('who leaves goes after who is in, before facts, and a quarter of the passes at most', async () => {
  const { objects, end, keys } = byHand(8);
  for (const key of ['fact-1', 'fact-2', 'fact-3', 'fact-4', 'fact-5']) objects.mark(key, 'fact');
  for (const key of ['leaver-1', 'leaver-2', 'leaver-3']) objects.mark(key, 'departure');
  objects.mark('newcomer');
  expect(keys()).toEqual(['fact-1', 'fact-2', 'fact-3', 'fact-4', 'fact-5', 'leaver-1', 'newcomer']);
  await end(0);
  await end(1);
  expect(keys().slice(7)).toEqual(['leaver-2']);
  await end(5);
  expect(keys().slice(8)).toEqual(['leaver-3']);
});

test('what may wait keeps its priority while it waits', async () => {
  const { objects, keys } = byHand(4);
  objects.mark('leaver', 'departure', { withinMs: 1000 });
  expect(keys()).toEqual([]);
  for (const key of ['fact-1', 'fact-2', 'fact-3', 'fact-4']) objects.mark(key, 'fact');
  expect(keys()).toEqual(['fact-1', 'fact-2', 'fact-3']);
  await vi.advanceTimersByTimeAsync(1000);
  expect(keys()).toHaveLength(3);
  objects.mark('newcomer');
  expect(keys()).toEqual(['fact-1', 'fact-2', 'fact-3', 'newcomer']);
});

test('what happens to who leaves while it waits for its turn is shown by that pass, and so told to who waits', async () => {
  const turn = Promise.withResolvers<void>();
  const { objects, end, keys, sizes } = byHand(4, async (pass) => {
    await turn.promise;
    return pass();
  });
  objects.mark('leaver', 'departure');
  objects.mark('leaver', 'departure');
  const shownToWaiter = objects.project('leaver');
  expect(keys()).toEqual([]);
  turn.resolve();
  await vi.advanceTimersByTimeAsync(0);
  await end(0);
  await shownToWaiter;
  expect(keys()).toEqual(['leaver']);
  expect(sizes.at(-1)).toBe(0);
});

test('facts that take long leave a place for what events say', async () => {
  const { objects, keys } = byHand(4);
  for (const key of ['a', 'b', 'c', 'd']) objects.mark(key, 'fact');
  expect(keys()).toEqual(['a', 'b', 'c']);
  objects.mark('urgent');
  expect(keys()).toEqual(['a', 'b', 'c', 'urgent']);
});

test('after an outage what an event was about is tried again before what was merely compared', async () => {
  const { objects, end, keys } = byHand(2);
  objects.mark('compared', 'fact');
  void rejectionOf(objects.project('event'));
  for (const index of [0, 1]) await end(index, new RollcallError('KUBE_UNREACHABLE', 'away'));
  const { begun } = { begun: keys().length };
  objects.mark('other');
  objects.mark('another');
  objects.retryFailed();
  await end(begun);
  expect(keys().slice(begun)).toEqual(['other', 'another', 'event']);
});

test('the projection is as far behind as the oldest event that no pass has shown', async () => {
  const { objects, end } = byHand();
  expect(objects.oldestMs()).toBeUndefined();
  void rejectionOf(objects.project('a', { atMs: 20 }));
  void rejectionOf(objects.project('b', { atMs: 10 }));
  objects.mark('c', 'fact');
  expect(objects.oldestMs()).toBe(10);
  await end(1, new RollcallError('KUBE_UNREACHABLE', 'away'));
  await end(0);
  expect(objects.oldestMs()).toBe(10);
  await vi.advanceTimersByTimeAsync(100);
  await end(3);
  expect(objects.oldestMs()).toBeUndefined();
});

test('stopping ends what runs and rejects whoever waits, retryable', async () => {
  const { objects, end, keys } = byHand(1);
  const running = objects.project('a');
  const waiting = rejectionOf(objects.project('b'));
  const stopped = objects.stop();
  await end(0);
  await expect(running).resolves.toBeUndefined();
  await stopped;
  expect(await waiting).toMatchObject({ code: 'DEADLINE_EXCEEDED', retry: true });
  await expect(objects.project('c')).rejects.toMatchObject({ retry: true });
  expect(keys()).toEqual(['a']);
});

test('a pass that did not show everything when stopping came is told as well', async () => {
  const { objects, end } = byHand();
  const waiting = rejectionOf(objects.project('a'));
  const stopped = objects.stop();
  await end(0, { isShown: false, againInMs: 10 });
  await stopped;
  expect(await waiting).toMatchObject({ code: 'DEADLINE_EXCEEDED', retry: true });
});

test('what may wait is shown with the next word, or when its time is over', async () => {
  const { objects, keys } = byHand();
  void objects.project('a', { withinMs: 50 }).catch(() => undefined);
  void objects.project('b', { withinMs: 50 }).catch(() => undefined);
  expect(keys()).toEqual([]);
  objects.mark('a');
  expect(keys()).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(49);
  expect(keys()).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(1);
  expect(keys()).toEqual(['a', 'b']);
});

test('what may wait is content with a look that comes sooner, and does not wait for one that comes later', async () => {
  const { objects, end, keys } = byHand();
  objects.mark('a');
  objects.mark('b');
  await end(0, { isShown: true, againInMs: 20 });
  await end(1, { isShown: true, againInMs: 10_000 });
  void objects.project('a', { withinMs: 50 }).catch(() => undefined);
  void objects.project('b', { withinMs: 50 }).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(20);
  expect(keys()).toEqual(['a', 'b', 'a']);
  await end(2);
  await vi.advanceTimersByTimeAsync(30);
  expect(keys()).toEqual(['a', 'b', 'a', 'b']);
});

test('what waits for a look that comes anyway is as urgent then as what led to it, while facts take all their places', async () => {
  const { objects, keys, end } = byHand();
  objects.mark('edge', 'fact');
  await end(0, { isShown: true, againInMs: 60 });
  for (const busy of ['busy-1', 'busy-2', 'busy-3']) objects.mark(busy, 'fact');
  void objects.project('edge', { withinMs: 100 });
  await vi.advanceTimersByTimeAsync(100);
  expect(keys()).toEqual(['edge', 'busy-1', 'busy-2', 'busy-3', 'edge']);
});

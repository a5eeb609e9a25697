import { expect, test } from 'vitest';
import { type CalloutTurn, createCalloutQueue } from './callout-queue.ts';

function aQueue() {
  let nowMs = 0;
  let dropped = 0;
  const begun: string[] = [];
  const finish: (() => void)[] = [];
  const queue = createCalloutQueue({ nowMs: () => nowMs, dropped: () => void dropped++ });
  return {
    queue,
    begun,
    push: (turn: CalloutTurn, name: string) =>
      queue.push(turn, () => {
        begun.push(name);
        const { promise, resolve } = Promise.withResolvers<void>();
        finish.push(resolve);
        return promise;
      }),
    /** Ends one that runs; the next begins. */
    async finishOne() {
      finish.shift()?.();
      await new Promise(setImmediate);
    },
    passMs: (ms: number) => void (nowMs += ms),
    dropped: () => dropped,
  };
}

function withAllPlacesTaken() {
  const world = aQueue();
  for (let at = 0; at < 64; at++) world.push('first', `running-${at}`);
  world.begun.length = 0;
  return world;
}

test('64 run at once, and the next begins when one ends', async () => {
  const world = withAllPlacesTaken();
  world.push('first', 'next');
  expect(world.begun).toEqual([]);
  await world.finishOne();
  expect(world.begun).toEqual(['next']);
});

test('members that come back are served first, the suspect after everybody else', async () => {
  const world = withAllPlacesTaken();
  world.push('last', 'suspect');
  world.push('next', 'new');
  world.push('first', 'member');
  for (let at = 0; at < 3; at++) await world.finishOne();
  expect(world.begun).toEqual(['member', 'new', 'suspect']);
});

test('a full queue loses its oldest suspect, and one of the others only where there is no suspect', async () => {
  const world = withAllPlacesTaken();
  for (let at = 0; at < 2047; at++) world.push('first', `good-${at}`);
  world.push('last', 'suspect');
  world.push('first', 'good-2047');
  expect([world.dropped(), world.queue.waiting()]).toEqual([1, 2048]);
  world.push('first', 'good-2048');
  await world.finishOne();
  expect(world.dropped()).toBe(2);
  expect(world.begun).toEqual(['good-1']);
});

test('a full queue loses one that is new before a member that comes back', async () => {
  const world = withAllPlacesTaken();
  world.push('next', 'new');
  for (let at = 0; at < 2048; at++) world.push('first', `member-${at}`);
  expect([world.dropped(), world.queue.waiting()]).toEqual([1, 2048]);
  await world.finishOne();
  expect(world.begun).toEqual(['member-0']);
});

test('whoever has waited longer than the server does is not answered any more', async () => {
  const world = withAllPlacesTaken();
  world.push('first', 'old');
  world.passMs(4000);
  world.push('first', 'young');
  await world.finishOne();
  expect(world.begun).toEqual(['young']);
  expect(world.dropped()).toBe(1);
});

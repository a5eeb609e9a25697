import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { StoredEvent } from '@rollcall/shared/events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EventLog } from '../event-log.ts';
import { followEvents } from './follow-events.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

/** A stream of which the test says what is stored, and what of that is heard. */
function aStream() {
  const stored: (StoredEvent & { restored?: boolean })[] = [];
  let hear: (error: null, message: Msg) => void = () => undefined;
  const nc = {
    subscribe: (_subject: string, { callback }: { callback: typeof hear }) => {
      hear = callback;
      return { unsubscribe: () => undefined };
    },
    isClosed: () => false,
    // A connection that nothing happens to.
    status: async function* status() {},
    // As one who only watches it is told how long the history is.
    options: { name: 'ops' },
    request: async () => ({
      data: [1],
      json: () => ({ messages: 6, bytes: 6, firstSequence: 1, lastSequence: 6 }),
    }),
  } as unknown as NatsConnection;
  const log = {
    async *scan({ fromSequence = 1, filter = '>' }) {
      if (stored.length === 0) throw new Error('away');
      for (const event of stored)
        if (event.sequence >= fromSequence && (filter === '>' || event.restored)) yield event;
    },
    heard: (message: Msg) => {
      const event = message as unknown as StoredEvent;
      return { ...event, decode: () => event };
    },
  } as unknown as EventLog;
  const store = (sequence: number, more: object = {}) =>
    void stored.push({ sequence, epoch: 1, ...more } as StoredEvent);
  return { nc, log, stored, store, tell: (sequence: number) => hear(null, { sequence } as unknown as Msg) };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('what is heard is given at once and once, and what was stored and never told comes late', async () => {
  const { nc, log, store, tell } = aStream();
  store(1);
  const stop = new AbortController();
  const given: number[] = [];
  const following = (async () => {
    for await (const { sequence } of followEvents(nc, log, { fromSequence: 1, signal: stop.signal }))
      given.push(sequence);
  })();
  await settled();
  store(2);
  // A server that dies tells no more of what it stored.
  store(3);
  tell(3);
  tell(3);
  await settled();
  expect(given).toEqual([1, 3]);
  vi.advanceTimersByTime(10_000);
  await settled();
  expect(given).toEqual([1, 3, 2]);
  store(4);
  tell(4);
  await settled();
  vi.advanceTimersByTime(10_000);
  await settled();
  expect(given).toEqual([1, 3, 2, 4]);
  stop.abort();
  await following;
});

test('of a hub that was restored while the bus was away all of the new epoch is given, also where it is longer than the old one', async () => {
  const { nc, log, stored, store } = aStream();
  for (const sequence of [1, 2, 3, 4]) store(sequence);
  const stop = new AbortController();
  const given: string[] = [];
  const options = {
    fromSequence: 1,
    signal: stop.signal,
    async onAway(error: unknown) {
      // Once: what it cannot mend would come again for ever.
      if (stored.length > 0) throw error;
      for (const sequence of [1, 2]) store(sequence);
      for (const sequence of [3, 4, 5, 6]) store(sequence, { epoch: 2, restored: sequence === 3 });
    },
    onRestored: (lastSequence: number) => void given.push(`restored after ${lastSequence}`),
  };
  const following = (async () => {
    for await (const { epoch, sequence } of followEvents(nc, log, options))
      given.push(`${epoch}.${sequence}`);
  })();
  await settled();
  stored.length = 0;
  vi.advanceTimersByTime(10_000);
  await settled();
  const ofNew = ['restored after 2', '2.3', '2.4', '2.5', '2.6'];
  expect(given).toEqual(['1.1', '1.2', '1.3', '1.4', ...ofNew]);
  stop.abort();
  await following;
});

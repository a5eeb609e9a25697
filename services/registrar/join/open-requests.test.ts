import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { requested } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { expect, onTestFinished, test, vi } from 'vitest';
import { anIdentity } from '../../../tests/harness/events.ts';
import { followOpenRequests, OpenRequests } from './open-requests.ts';

test('a request is open until its decision, by token and in total', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'T', sequence: 1 });
  requests.begin('two', { tokenId: 'T', sequence: 2 });
  requests.begin('three', { tokenId: 'U', sequence: 3 });
  expect([requests.total, requests.withToken('T'), requests.withToken('U')]).toEqual([3, 2, 1]);
  requests.end('one', 4);
  expect([requests.total, requests.withToken('T')]).toEqual([2, 1]);
});

test('a decision about an earlier request does not end a later one', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'T', sequence: 5 });
  requests.end('one', 4);
  expect(requests.total).toBe(1);
});

test('a decision that is read before its request ends it all the same', () => {
  const requests = new OpenRequests();
  requests.end('one', 9);
  requests.begin('one', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(0);
});

test('an earlier end that is read after a later one changes nothing: types are read one after the other', () => {
  const requests = new OpenRequests();
  requests.end('one', 9);
  requests.end('one', 5);
  requests.begin('one', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(0);
});

test('a cluster that asks again with another token counts once, for that one', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'T', sequence: 1 });
  requests.begin('one', { tokenId: 'U', sequence: 2 });
  expect([requests.total, requests.withToken('T'), requests.withToken('U')]).toEqual([1, 0, 1]);
});

test('what is read again of an older time changes nothing of what was heard since', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'U', sequence: 9 });
  requests.begin('one', { tokenId: 'T', sequence: 2 });
  requests.end('one', 5);
  expect([requests.total, requests.withToken('T'), requests.withToken('U')]).toEqual([1, 0, 1]);
});

test('an end is remembered only for as long as older events may come', () => {
  const requests = new OpenRequests();
  for (const id of ['one', 'two']) requests.end(id, 9);
  requests.toldBefore(9);
  requests.begin('one', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(0);
  requests.toldBefore(10);
  requests.begin('two', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(1);
});

test('a request that was stored while the history was read, and decided before its types were, is not open for ever', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const asked = { id: 'one', type: 'requested', sequence: 5, definition: requested, section: anIdentity() };
  const decided = { id: 'one', type: 'approved', sequence: 6 };
  const stored: { type: string; sequence: number }[] = [];
  const log = {
    async *scan({ filter, fromSequence }: { filter: string; fromSequence: number }) {
      for (const event of stored)
        if (filter.endsWith(event.type) && event.sequence >= fromSequence) yield event;
      if (stored.length === 0) stored.push(asked, decided);
    },
    heard: (event: unknown) => event,
  } as unknown as EventLog;
  const hear: ((error: undefined, event: unknown) => void)[] = [];
  const nc = {
    status: () => [],
    subscribe: (_subject: string, { callback }: { callback: (typeof hear)[number] }) => {
      hear.push(callback);
      return { unsubscribe: () => undefined };
    },
  } as unknown as NatsConnection;
  const { requests, stop } = followOpenRequests(nc, { log, logger: {} as Logger });
  await vi.advanceTimersByTimeAsync(1000);
  hear[0]?.(undefined, { id: 'two', type: 'denied', sequence: 7 });
  await vi.advanceTimersByTimeAsync(30_000);
  expect(requests.total).toBe(0);
  await stop();
});

import { type AggregateRecord, wishConfirmedForMs, type Wishes } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { desiredWishes } from './desired-wishes.ts';

const atMs = Date.parse('2026-11-21T12:00:00.400Z');
const massWish = { clusterId: 'id-1', clusterName: 'edge-1', wish: 'd1', type: 'leaving', person: 'anna' };
const shown = { cluster: 'edge-1', clusterId: 'id-1', wish: 'leaving', by: 'anna', digest: 'd1' };
const recordOf = (section: Wishes) =>
  ({ lastOf: { approver: { section } } }) as unknown as Pick<AggregateRecord, 'lastOf'>;

test('nothing waits where nobody ever wished', () => {
  expect(desiredWishes({ lastOf: {} }, atMs)).toEqual({ wishes: {} });
});

test('what is held is shown with its id and the limit', () => {
  const held = { id: 'w-1', limit: 5, wishes: [massWish] };
  expect(desiredWishes(recordOf({ recent: [], held }), atMs)).toEqual({
    wishes: { held: { id: 'w-1', limit: 5, wishes: [shown] } },
  });
});

test('what was confirmed is shown until its time is over, then no more', () => {
  const record = recordOf({ recent: [], confirmed: { atMs, wishes: [massWish] } });
  expect(desiredWishes(record, atMs + 1000)).toEqual({
    wishes: { confirmed: { at: '2026-11-21T12:00:00Z', wishes: [shown] } },
    againInMs: wishConfirmedForMs - 1000,
  });
  expect(desiredWishes(record, atMs + wishConfirmedForMs)).toEqual({ wishes: {} });
  expect(desiredWishes(recordOf({ recent: [], confirmed: { atMs, wishes: [] } }), atMs)).toEqual({
    wishes: {},
  });
});

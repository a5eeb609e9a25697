import { type AggregateRecord, bulkConfirmedForMs, type BulkChanges } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { desiredOperations } from './desired-operations.ts';

const atMs = Date.parse('2026-11-21T12:00:00.400Z');
const bulkOperation = {
  clusterId: 'id-1',
  clusterName: 'edge-1',
  digest: 'd1',
  type: 'leaving',
  person: 'anna',
};
const shown = { cluster: 'edge-1', clusterId: 'id-1', operation: 'leaving', by: 'anna', digest: 'd1' };
const recordOf = (section: BulkChanges) =>
  ({ lastOf: { approver: { section } } }) as unknown as Pick<AggregateRecord, 'lastOf'>;

test('nothing waits where nobody ever put a member out', () => {
  expect(desiredOperations({ lastOf: {} }, atMs)).toEqual({ operations: {} });
});

test('what is held is shown with its id and the limit', () => {
  const held = { id: 'w-1', limit: 5, operations: [bulkOperation] };
  expect(desiredOperations(recordOf({ recent: [], held }), atMs)).toEqual({
    operations: { held: { id: 'w-1', limit: 5, operations: [shown] } },
  });
});

test('what was confirmed is shown until its time is over, then no more', () => {
  const record = recordOf({ recent: [], confirmed: { atMs, operations: [bulkOperation] } });
  expect(desiredOperations(record, atMs + 1000)).toEqual({
    operations: { confirmed: { at: '2026-11-21T12:00:00Z', operations: [shown] } },
    againInMs: bulkConfirmedForMs - 1000,
  });
  expect(desiredOperations(record, atMs + bulkConfirmedForMs)).toEqual({ operations: {} });
  expect(desiredOperations(recordOf({ recent: [], confirmed: { atMs, operations: [] } }), atMs)).toEqual({
    operations: {},
  });
});

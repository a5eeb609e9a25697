import { RollcallError } from '@rollcall/shared/errors';
import { foldRecord, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { createClusterNames } from './cluster-names.ts';

test.each(['cluster', 'token'] as const)(
  'the name of a %s that could not be read is read again',
  async (kind) => {
    let reads = 0;
    const names = createClusterNames({
      read: async (aggregate) => {
        if (++reads === 1) throw new RollcallError('BUS_UNREACHABLE', 'away');
        return foldRecord(aggregate, []);
      },
    });
    const event: Pick<StoredEvent, 'kind' | 'id' | 'section'> = { kind, id: 'abc', section: {} };
    for (let again = 0; again < 3; again++) await names.of(event);
    expect(reads).toBe(2);
  },
);

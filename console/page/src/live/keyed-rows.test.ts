import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyedRows } from './keyed-rows.ts';

interface Row {
  readonly key: string;
  readonly turn: number;
}

test('whatever comes, changes and goes, in whatever batches: the rows are there, newest, by their keys', () => {
  const change = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), goes: fc.boolean() });
  const batch = fc.record({ changes: fc.array(change, { maxLength: 5 }), isRead: fc.boolean() });
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 20 }), (batches) => {
      const rows = new KeyedRows<Row>(({ key }) => key);
      const truth = new Map<string, Row>();
      for (const [turn, { changes, isRead }] of batches.entries()) {
        for (const { key, goes } of changes) {
          rows.change(goes ? [] : [{ key, turn }], goes ? [key] : []);
          if (goes) truth.delete(key);
          else truth.set(key, { key, turn });
        }
        if (!isRead) continue;
        const expected = [...truth.values()].toSorted((one, other) => (one.key < other.key ? -1 : 1));
        expect(rows.sorted()).toEqual(expected);
        expect(rows.size).toBe(truth.size);
      }
    }),
  );
});

test('what was given is not changed by what comes', () => {
  const rows = new KeyedRows<Row>(({ key }) => key);
  rows.change([{ key: 'a', turn: 1 }], []);
  const given = rows.sorted();
  rows.change([{ key: 'a', turn: 2 }], []);
  expect(given).toEqual([{ key: 'a', turn: 1 }]);
  expect(rows.sorted()).toEqual([{ key: 'a', turn: 2 }]);
});

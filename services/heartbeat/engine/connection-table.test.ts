import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConnectionTable } from './connection-table.ts';

const step = fc.record({
  kind: fc.constantFrom('add' as const, 'remove' as const),
  server: fc.constantFrom('NA', 'NB', 'NC'),
  client: fc.integer({ min: 1, max: 40 }),
  slot: fc.nat(9),
});

test('it answers as a Map of (server, connection) would', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const table = new ConnectionTable(2);
      const model = new Map<string, number>();
      for (const { kind, server, client, slot } of steps) {
        const name = `${server} ${client}`;
        const isKnown = model.has(name);
        const got = kind === 'add' ? table.add(server, client, slot) : table.remove(server, client);
        expect(got).toBe(kind === 'add' ? !isKnown : (model.get(name) ?? -1));
        if (kind === 'remove') model.delete(name);
        else if (!isKnown) model.set(name, slot);
        expect(table.size).toBe(model.size);
      }
    }),
  );
});

test('after clear nothing is known', () => {
  const table = new ConnectionTable();
  table.add('NA', 1, 7);
  table.clear();
  expect(table.size).toBe(0);
  expect(table.remove('NA', 1)).toBe(-1);
});

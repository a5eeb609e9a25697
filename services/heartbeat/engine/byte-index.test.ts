import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteIndex } from './byte-index.ts';

const bytesOf = (text: string) => Buffer.from(text, 'latin1');
const find = (index: ByteIndex, id: string) => index.find(bytesOf(id), 0, id.length);
const insert = (index: ByteIndex, id: string) => index.insert(bytesOf(id), 0, id.length);

test.each([
  { name: 'nothing', id: '' },
  { name: 'an id that is too long', id: 'x'.repeat(64) },
  { name: 'a part of a known id', id: 'clust' },
  { name: 'a longer one', id: 'cluster-1' },
])('$name is not found', ({ id }) => {
  const index = new ByteIndex(2);
  insert(index, 'cluster');
  expect(find(index, id)).toBe(-1);
});

test('an id is found within a longer subject', () => {
  const index = new ByteIndex(2);
  const slot = insert(index, 'cluster');
  expect(index.find(bytesOf('rollcall.heartbeat.cluster'), 19, 26)).toBe(slot);
});

test('an id that is too long is refused', () => {
  const index = new ByteIndex(2);
  expect(() => insert(index, 'x'.repeat(64))).toThrow(RangeError);
  expect(insert(index, 'x'.repeat(63))).toBe(0);
});

// Few different ids, so that they are removed and inserted again; a small table, so that they collide and it grows.
const id = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 4 }),
  fc.uuid(),
);
const step = fc.record({ kind: fc.constantFrom('insert' as const, 'remove' as const), id });

test('it answers as a Map would, and no two ids share a slot', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const index = new ByteIndex(2);
      const model = new Map<string, number>();
      for (const one of steps) {
        const known = model.get(one.id);
        if (one.kind === 'insert') {
          model.set(one.id, insert(index, one.id));
        } else if (known !== undefined) {
          index.remove(known);
          model.delete(one.id);
        }
        expect(index.size).toBe(model.size);
        const slot = known ?? 0;
        expect(index.isUsed(slot)).toBe([...model.values()].includes(slot));
        expect(known === undefined || (model.get(one.id) ?? known) === known).toBe(true);
      }
      expect(new Set(model.values()).size).toBe(model.size);
      for (const one of steps) expect(find(index, one.id)).toBe(model.get(one.id) ?? -1);
      for (const [text, slot] of model) {
        expect(index.textOf(slot)).toBe(text);
        expect(index.isUsed(slot)).toBe(true);
        expect(slot).toBeLessThan(index.capacity);
      }
    }),
  );
});

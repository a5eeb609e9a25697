import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Json, type JsonObject, mergePatchBetween, statusPatch } from './difference.ts';

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** RFC 7396, as the API server applies it. */
function applied(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: Record<string, Json> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applied(result[key], value);
  }
  return result;
}

// Without null: no field of ours is null, and a merge patch cannot set it.
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string(), { maxLength: 2 }));
const key = fc.constantFrom('a', 'b', 'c');
const tree = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, leaf, { noNullPrototype: true })), {
  noNullPrototype: true,
});

test('a patch turns the one into the other, and is empty when they are equal', () => {
  fc.assert(
    fc.property(tree, tree, (current, desired) => {
      const patch = mergePatchBetween(current, desired);
      expect(applied(current, patch)).toEqual(desired);
      expect(mergePatchBetween(desired, desired)).toEqual({});
    }),
  );
});

const head = { epoch: 1, sequence: 5, digest: 'sha256:x' };

test.each([
  { name: 'equal', current: { liveness: 'ready' }, desired: { liveness: 'ready' }, want: undefined },
  {
    name: 'only the witness moved',
    current: { observed: head },
    desired: { observed: { ...head, sequence: 6 } },
    want: undefined,
  },
  {
    name: 'the witness is written along',
    current: { liveness: 'ready', observed: head },
    desired: { liveness: 'suspect', observed: { ...head, sequence: 6 } },
    want: { patch: { liveness: 'suspect', observed: { sequence: 6 } }, fields: ['liveness'] },
  },
  {
    name: 'a witness is never removed',
    current: { a: 1, observed: head },
    desired: { a: 2 },
    want: { patch: { a: 2 }, fields: ['a'] },
  },
  {
    name: 'what is no longer known is removed',
    current: { lastSeen: 'live' },
    desired: {},
    want: { patch: { lastSeen: null }, fields: ['lastSeen'] },
  },
  { name: 'no status yet', current: undefined, desired: { a: 1 }, want: { patch: { a: 1 }, fields: ['a'] } },
])('statusPatch: $name', ({ current, desired, want }) => {
  expect(statusPatch(current, desired)).toEqual(want);
});

test('a witness that is asked for is written alone', () => {
  const newer = { observed: { ...head, sequence: 6 } };
  expect(statusPatch({ observed: head }, newer, true)).toEqual({
    patch: { observed: { sequence: 6 } },
    fields: [],
  });
  expect(statusPatch(newer, newer, true)).toBeUndefined();
});

import { expect, test } from 'vitest';
import { differingPaths } from './differing-paths.ts';

test.each([
  { before: { a: 1 }, after: { a: 1 }, want: [] },
  { before: { a: { b: [1, { c: 2 }] } }, after: { a: { b: [1, { c: 3 }] } }, want: ['a.b[1].c'] },
  { before: { a: [1] }, after: { a: [1, 2] }, want: ['a'] },
  { before: { a: { b: 1 } }, after: { a: 'b' }, want: ['a'] },
  { before: {}, after: { new: { deep: 1 } }, want: ['new'] },
  { before: { gone: null, stays: 1 }, after: { stays: 1 }, want: ['gone'] },
  {
    before: { metadata: { annotations: { 'rollcall.dev/keys': 'x' } } },
    after: { metadata: { annotations: { 'rollcall.dev/keys': 'y' } } },
    want: ['metadata.annotations[rollcall.dev/keys]'],
  },
])('$before and $after differ at $want', ({ before, after, want }) => {
  expect(differingPaths(before, after)).toEqual(want);
});

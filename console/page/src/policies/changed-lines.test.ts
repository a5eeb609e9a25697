import { expect, test } from 'vitest';
import { changedLines } from './changed-lines.ts';

test.each([
  { name: 'nothing', after: 'a\nb\nc', want: 0 },
  { name: 'one line', after: 'a\nx\nc', want: 1 },
  { name: 'two lines apart', after: 'x\nb\ny', want: 2 },
  { name: 'a line more', after: 'a\nb\nb2\nc', want: 1 },
  { name: 'a line less', after: 'a\nc', want: 1 },
  { name: 'the last line away', after: 'a\nb', want: 1 },
  { name: 'all of it', after: '', want: 3 },
])('$name: $want', ({ after, want }) => {
  expect(changedLines('a\nb\nc', after)).toBe(want);
});

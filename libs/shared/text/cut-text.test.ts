import { expect, test } from 'vitest';
import { cutText } from './index.ts';

test.each([
  { text: 'plain', most: 10, want: 'plain' },
  { text: 'plain', most: 3, want: 'pla' },
  { text: 'ab😀', most: 4, want: 'ab😀' },
  { text: 'ab😀', most: 3, want: 'ab\uFFFD' },
  { text: 'a\uD800b', most: 10, want: 'a\uFFFDb' },
])('$text of at most $most is $want', ({ text, most, want }) => {
  expect(cutText(text, most)).toBe(want);
  expect(cutText(text, most).length).toBeLessThanOrEqual(most);
});

import { expect, test } from 'vitest';
import { cutText, printableLine } from './index.ts';

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

test.each([
  { text: 'caf\u00e9 \u65e5\u672c \u{1f680}', want: 'caf\u00e9 \u65e5\u672c \u{1f680}' },
  { text: 'a\r\nb\tc\u2028d', want: 'a  b c d' },
  { text: 'a\u001b[2Jb\u009bc\u0000', want: 'a\uFFFD[2Jb\uFFFDc\uFFFD' },
  { text: 'a\u202eb\u2066c\u200b\u{e0001}', want: 'a\uFFFDb\uFFFDc\uFFFD\uFFFD' },
  { text: 'a\uD800b', want: 'a\uFFFDb' },
])('$text is shown as $want', ({ text, want }) => {
  expect(printableLine(text)).toBe(want);
});

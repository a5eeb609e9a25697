import { expect, test } from 'vitest';
import { printable, printableJson, printableLines } from './printable.ts';

test.each([
  { name: 'plain text stays', text: 'edge-1 is ready', want: 'edge-1 is ready' },
  { name: 'an escape sequence loses its escape', text: '\u001b[31mred\u001b[0m', want: '[31mred[0m' },
  { name: 'a one-byte CSI is taken out', text: 'a\u009b2Jb', want: 'a2Jb' },
  { name: 'line breaks become blanks', text: 'one\r\ntwo\tthree', want: 'one two three' },
  { name: 'text that is turned around is taken out', text: 'abc\u202edef', want: 'abcdef' },
  { name: 'names in other scripts stay', text: 'Zürich-東京', want: 'Zürich-東京' },
])('printable: $name', ({ text, want }) => {
  expect(printable(text)).toBe(want);
});

test('lines stay apart and are cleaned one by one', () => {
  expect(printableLines('a\u001bb\nc')).toBe('ab\nc');
});

test.each([0, 2])(
  'JSON indented by %i keeps every character and prints none that moves the cursor',
  (indent) => {
    const value = { text: 'a\u001b\u009b\u202e\u2028\u{e0001}b', 'key\u200d': ['\n'] };
    const json = printableJson(value, indent);
    expect(JSON.parse(json)).toEqual(value);
    expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  },
);

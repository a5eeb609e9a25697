import { styleText } from 'node:util';
import { expect, test } from 'vitest';
import { printable, printableJson, printableLines, printableOutput } from './printable.ts';

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

test('what is printed keeps lines, tabs and our own colours, and nothing else that a terminal acts on', () => {
  const red = styleText('red', 'bad', { validateStream: false });
  expect(printableOutput(`a\t${red}\nb`)).toBe(`a\t${red}\nb`);
  expect(printableOutput('cluster "x\u001b]0;y\u0007\u001b[2J\u001b[8m\u009b31m\u202e\r" is Ready')).toBe(
    'cluster "x]0;y[2J[8m31m" is Ready',
  );
});

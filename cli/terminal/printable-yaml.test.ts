import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { printableYaml } from './printable-yaml.ts';

test('what is unprintable is escaped, and a tab is text', () => {
  const object = {
    when: 'token.valid\n\t&& true',
    note: 'a\u001b[2Jb\u202ec',
    'k\u200by': '\u{e0001}',
    cr: 'a\rb',
  };
  const text = printableYaml(object);
  expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);
  expect(parse(text)).toEqual(object);
});

test.each(['\n', ' \n', 'x\n', 'x\n\n', 'x\n ', 'x '])('the end of %j is kept', (value) => {
  expect(parse(printableYaml({ value }))).toEqual({ value });
});

test('what is read back is what was there, and no character of it moves a cursor', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (object) => {
      const text = printableYaml(object, { lineWidth: 0 });
      expect(parse(text)).toEqual({ ...object });
      expect(text).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

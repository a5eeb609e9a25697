import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { patternSize } from './pattern-size.ts';

test.each([
  { pattern: 'edge-[a-z0-9]{1,20}', least: 26, most: 60 },
  { pattern: 'a{0,1000}', least: 2000, most: 2002 },
  { pattern: '(a{10}){100}', least: 1000, most: 1300 },
  { pattern: '(?:a{0,30}b){10,}', least: 620, most: 1500 },
  { pattern: '\\p{Greek}\\pL', least: 202, most: 202 },
  { pattern: '[^]\\]a{9}]', least: 1, most: 1 },
  { pattern: '[[:alpha:]{5}]', least: 1, most: 1 },
  { pattern: '\\x{10FFFF}\\{5}', least: 2, most: 4 },
  { pattern: 'no|repeat{x}', least: 10, most: 12 },
  { pattern: '', least: 0, most: 0 },
])('$pattern takes $least to $most places', ({ pattern, least, most }) => {
  expect(patternSize(pattern)).toBeGreaterThanOrEqual(least);
  expect(patternSize(pattern)).toBeLessThanOrEqual(most);
});

test('what is compiled is at most twice as large', () => {
  const atom = fc.constantFrom('a', '.', '[a-z]', '\\d', '\\pL', '^', 'é');
  const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
    piece: fc.oneof(
      atom,
      fc.tuple(tie('pattern'), fc.constantFrom('', '?:')).map(([inner, kind]) => `(${kind}${inner})`),
      fc
        .tuple(atom, fc.nat(20), fc.nat(20), fc.constantFrom('exact', 'open', 'range'))
        .map(([one, least, more, kind]) => {
          const end = kind === 'exact' ? '' : kind === 'open' ? ',' : `,${least + more}`;
          return `${one}{${least}${end}}`;
        }),
      atom.map((one) => `${one}*`),
    ),
    pattern: fc.array(tie('piece'), { maxLength: 6, depthIdentifier: 'pattern' }).map((all) => all.join('')),
  }));
  fc.assert(
    fc.property(pattern, (text) => {
      expect(RE2JS.compile(text).programSize()).toBeLessThanOrEqual(2 * patternSize(text) + 8);
    }),
    { numRuns: 500 },
  );
});

test('nor is what only looks like one thing and is another', () => {
  const tokens =
    '\\Q|\\E|[|]|[^|[:alpha:]|[:^word:]|(|(?:|(?i)|(?P<n>|)|a|-|k|\\|\\p{L}|\\p{^L}|\\PL|\\x{5d}|\\x5d|\\133|^|$|.|\\b|é|𝒳|{|}|,|:|?|*|+|{30}|{0,30}|{9,}'.split(
      '|',
    );
  const text = fc.array(fc.constantFrom(...tokens, '|'), { maxLength: 14 }).map((all) => all.join(''));
  const sizeOf = (pattern: string): number => {
    try {
      return RE2JS.compile(pattern).programSize();
    } catch {
      return 0;
    }
  };
  fc.assert(
    fc.property(text, (pattern) => {
      expect(sizeOf(pattern)).toBeLessThanOrEqual(2 * patternSize(pattern) + 8);
    }),
    {
      numRuns: 20_000,
      examples: [['\\Q[\\Ea{0,1000}'], ['\\Q(\\Ea{0,1000}'], ['\\Qa{0,1000}'], ['\\Q𝒳\\E{0,1000}']],
    },
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documents, readDocument } from '../tests/docs/markdown.ts';
import { oneSentenceALine } from './one-sentence-a-line.ts';

const text = (...lines: string[]) => lines.join('\n');

test.each([
  { name: 'a paragraph', before: text('It', 'asks. It', 'waits.'), after: text('It asks.', 'It waits.') },
  { name: 'two paragraphs', before: text('A. B.', '', 'C. D.'), after: text('A.', 'B.', '', 'C.', 'D.') },
  { name: 'under a heading', before: text('# A. B.', 'C. D.'), after: text('# A. B.', 'C.', 'D.') },
  { name: 'a list', before: text('- A. B.', '- C', '  d.'), after: text('- A.', '  B.', '- C d.') },
  {
    name: 'a numbered list',
    before: text('9. A. B.', '10. C. D.'),
    after: text('9. A.', '   B.', '10. C.', '    D.'),
  },
  { name: 'a line that is not indented', before: text('- A', 'b. C.'), after: text('- A b.', '  C.') },
  {
    name: 'a list in a list',
    before: text('- A', '  - B. C.', '- D'),
    after: text('- A', '  - B.', '    C.', '- D'),
  },
  {
    name: 'a paragraph of an item',
    before: text('- A', '', '  B. C.'),
    after: text('- A', '', '  B.', '  C.'),
  },
  { name: 'an item that begins two lists', before: '1. - A. B.', after: text('1. - A.', '     B.') },
  {
    name: 'a line break that is meant',
    before: text('A. B.  ', 'C\\', 'd'),
    after: text('A.', 'B.  ', 'C\\', 'd'),
  },
  {
    name: 'what follows a comment',
    before: text('<!-- A. B. -->', 'C. D.'),
    after: text('<!-- A. B. -->', 'C.', 'D.'),
  },
  {
    name: 'what begins with an address',
    before: '<https://a.example> is it. B.',
    after: text('<https://a.example> is it.', 'B.'),
  },
  {
    name: 'after front matter',
    before: text('---', 'a: A. B.', '---', 'C. D.'),
    after: text('---', 'a: A. B.', '---', 'C.', 'D.'),
  },
])('one sentence a line: $name', ({ before, after }) => {
  expect(oneSentenceALine(before)).toBe(after);
});

test.each([
  { name: 'fenced code', markdown: text('```sh', 'A. B.', '', 'C. D.', '```') },
  { name: 'a fence in a fence', markdown: text('````', '```', 'A. B.', '```', 'C. D.', '````') },
  { name: 'fenced code in an item', markdown: text('- A', '  ```', '  B. C.', '  ```') },
  { name: 'fenced code that begins an item', markdown: text('- ```', '  A. B.', '  ```') },
  { name: 'indented code', markdown: text('A', '', '    B. C.', '    - D. E.') },
  { name: 'indented code in an item', markdown: text('- A', '', '      B. C.') },
  { name: 'a table', markdown: text('| A. B. |', '| --- |', '| C. D. |') },
  { name: 'a table without pipes at its edges', markdown: text('A. B. | C', '--- | ---', 'D. E. | F') },
  { name: 'an underlined heading', markdown: text('A. B.', '===') },
  { name: 'a comment of several lines', markdown: text('<!-- A. B.', '', 'C. D. -->') },
  { name: 'HTML', markdown: text('<div>', 'A. B.', '</div>') },
  { name: 'a quote', markdown: text('> A. B.', '> C') },
  { name: 'a link definition', markdown: '[a]: b.md "A. B."' },
  { name: 'an item without text', markdown: text('- A', '-', '- B') },
  { name: 'an item of code', markdown: '-     A. B.' },
  { name: 'a rule', markdown: text('* * *', '', '- - -') },
])('untouched: $name', ({ markdown }) => {
  expect(oneSentenceALine(markdown)).toBe(markdown);
});

const withoutLines = (markdown: string) => markdown.replaceAll(/\s+/g, ' ').trim();

/** What lines of Markdown are made of, with a bar between. */
const pieces =
  'A|b.|C!|(d.|E)|`f. G`|`|**|[h.|]|<i>|1.|2)|- |# |> |---|```|<!--|-->| |  |    |\\|\n|\n|\n\n|\n  |\n- |\n1. '.split(
    '|',
  );
const piece = fc.constantFrom('|', ...pieces);

test('whatever it is given, the words stay, and a second time changes nothing', () => {
  const markdown = fc.array(piece, { maxLength: 30 }).map((all) => all.join(''));
  fc.assert(
    fc.property(markdown, (before) => {
      const after = oneSentenceALine(before);
      expect(withoutLines(after)).toBe(withoutLines(before));
      expect(oneSentenceALine(after)).toBe(after);
    }),
    { numRuns: 3000 },
  );
});

test.each(documents())('%s reads the same with one sentence a line, and stays so', (path) => {
  const before = readDocument(path);
  const after = oneSentenceALine(before);
  expect(withoutLines(after)).toBe(withoutLines(before));
  expect(oneSentenceALine(after)).toBe(after);
});

test('every document has one sentence a line; `npm run format` lays it out', () => {
  const others = documents().filter((path) => oneSentenceALine(readDocument(path)) !== readDocument(path));
  expect(others).toEqual([]);
});

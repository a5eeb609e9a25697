import { sentencesOf } from './sentences.ts';

/** Lines that belong together: prose, which is laid out anew, or anything else, which stays as it is. */
interface Block {
  isProse: boolean;
  readonly lines: string[];
}

const frontMatter = /^---\n[\s\S]*?\n---\n/;
const blankLine = /^\s*$/;
/** Also of an item whose text is a list again. */
const listMarker = /^(?:\s*(?:[-*+]|\d{1,9}[.)])\s{1,4})+(?=\S)/;
/** An item without text, or one that begins with code. */
const bareItem = /^\s*(?:[-*+]|\d{1,9}[.)])(?:\s*$|\s{5})/;
/** Under prose it makes a heading of it, or a table that has no pipes at its edges. */
const underline = /^\s*(?:=+|-+|:?-+:?(?:\s*\|\s*:?-+:?)+)\s*$/;
/** Where people read it, the line ends here. */
const hardBreak = /(?: {2}|\\)$/;
const rule = /^\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const fence = /^\s*(?<fence>`{3,}|~{3,})/;

/** What else is no prose: how its first line begins, what its last line has, and whether it may begin in the middle of a paragraph. */
const untouched = [
  { begins: /^\s*#{1,6}(?:\s|$)/, ends: /^/, interrupts: true },
  { begins: bareItem, ends: /^/, interrupts: true },
  { begins: /^\s*\[[^\]]+\]:/, ends: /^/, interrupts: false },
  { begins: /^\s*<!--/, ends: /-->/, interrupts: true },
  { begins: /^\s*[|>]/, ends: blankLine, interrupts: true },
  { begins: /^\s*<(?![a-z][a-z+.-]*:)[a-z/!?]/i, ends: blankLine, interrupts: false },
];

/**
 * Lays Markdown out with one sentence a line, so that a diff shows the sentences that changed. What renders stays the same.
 * Paragraphs and list items are joined and split anew. Code, tables, headings, quotes, HTML, link definitions and front matter stay.
 */
export function oneSentenceALine(markdown: string): string {
  const [head = ''] = frontMatter.exec(markdown) ?? [];
  const lines = blocksOf(markdown.slice(head.length).split('\n')).flatMap((block) =>
    block.isProse ? layOut(block.lines) : block.lines,
  );
  return head + lines.join('\n');
}

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  /** The paragraph or item that the next line may go on with. */
  let prose: Block | undefined;
  /** The last line of the block that is being read, where it is no prose. */
  let lastLine: RegExp | undefined;
  /** Where the text of the last list item begins. Code that is indented begins four columns further. */
  let itemColumn = 0;
  const begin = (isProse: boolean, line: string) => {
    const block = { isProse, lines: [line] };
    blocks.push(block);
    prose = isProse ? block : undefined;
  };
  for (const line of lines) {
    const isItem = listMarker.test(line) && !rule.test(line) && !bareItem.test(line);
    const column = isItem ? startOf(line).length : line.length - line.trimStart().length;
    if (lastLine) {
      begin(false, line);
      if (lastLine.test(line)) lastLine = undefined;
    } else if (blankLine.test(line)) {
      begin(false, line);
    } else if (prose && underline.test(line)) {
      prose.isProse = false;
      begin(false, line);
      if (line.includes('|')) lastLine = blankLine;
    } else if (!prose && isIndentedCode(line, itemColumn)) {
      begin(false, line);
    } else {
      const end = endOfOther(isItem ? line.slice(column) : line, !isItem && prose !== undefined);
      if (isItem) itemColumn = column;
      else if (!prose) itemColumn = Math.min(itemColumn, column);
      if (end) {
        begin(false, line);
        lastLine = end === 'this line' ? undefined : end;
      } else if (prose && !isItem) prose.lines.push(line);
      else begin(true, line);
    }
  }
  return blocks;
}

function isIndentedCode(line: string, itemColumn: number): boolean {
  const indent = line.length - line.trimStart().length;
  return indent >= 4 + (indent < itemColumn ? 0 : itemColumn);
}

/** @returns what the last line of a block has that is no prose; undefined where its first line begins prose, or goes on with it */
function endOfOther(line: string, isInProse: boolean): RegExp | 'this line' | undefined {
  const opening = fence.exec(line)?.groups?.['fence'];
  if (opening !== undefined) return new RegExp(String.raw`^\s*${opening}+\s*$`);
  if (rule.test(line)) return 'this line';
  const kind = untouched.find(({ begins, interrupts }) => begins.test(line) && (interrupts || !isInProse));
  return kind?.ends.test(line) ? 'this line' : kind?.ends;
}

/** What stands before the text of a line: the marker of a list, or an indent. */
function startOf(line: string): string {
  return (listMarker.exec(line) ?? /^\s*/.exec(line))?.[0] ?? '';
}

function layOut(lines: readonly string[]): string[] {
  const start = startOf(lines[0] ?? '');
  const text = lines
    .map((line, index) => (index === 0 ? line.slice(start.length) : line.trimStart()))
    .map((line) => (hardBreak.test(line) ? `${line}\n` : `${line.trimEnd()} `))
    .join('')
    .replace(/ $/, '');
  const sentences = text.split('\n').flatMap((part) => (part === '' ? [] : sentencesOf(part)));
  return sentences.map((sentence, index) => (index === 0 ? start : ' '.repeat(start.length)) + sentence);
}

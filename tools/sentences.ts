/** What ends in a full stop and no sentence. */
const abbreviations = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp)\.$/i;
/** A full stop with what closes after it, before what a sentence may begin with. */
const ending = /(?<![.…])[.!?][)\]"'”’»*_]*(?<space> +)(?=["'“‘(*_]*[\p{Lu}\p{N}`[])/gu;
/** At the start of a line these would begin another block: a list, a heading, a quote, a table, HTML, a link definition. */
const beginsBlock = /^(?:[-+*](?:\s|$)|\d+[.)](?:\s|$)|#|>|\||<|```|~~~|\[[^\]]+\]:)/;
/** A label such as `**Why.**` belongs to the sentence after it. */
const label = /^(?<mark>\*{1,3}|_{1,3})[^*_]+\k<mark>$/;
const codeSpan = /(?<!`)(?<ticks>`+)(?!`).+?(?<!`)\k<ticks>(?!`)/gs;

/** The sentences of a paragraph, which is one line. What is in brackets, in code or in the text of a link is never split. */
export function sentencesOf(paragraph: string): string[] {
  const sentences: string[] = [];
  let begin = 0;
  for (const { index, 0: match, groups } of withoutInnerSpaces(paragraph).matchAll(ending)) {
    const end = index + match.length - (groups?.['space'] ?? '').length;
    const next = index + match.length;
    const sentence = paragraph.slice(begin, end);
    const stop = paragraph.slice(0, index + 1);
    if (abbreviations.test(stop) || label.test(sentence) || beginsBlock.test(paragraph.slice(next))) continue;
    sentences.push(sentence);
    begin = next;
  }
  return [...sentences, paragraph.slice(begin)];
}

/** The same text, character for character, but for spaces at which it may not be split. */
function withoutInnerSpaces(text: string): string {
  const withoutCode = text.replaceAll(codeSpan, (span) => span.replaceAll(/[^`]/g, 'x'));
  let depth = 0;
  const characters = Array.from({ length: withoutCode.length }, (_, index) => {
    const character = withoutCode[index] ?? '';
    if ('(['.includes(character)) depth++;
    if (')]'.includes(character)) depth = Math.max(0, depth - 1);
    return depth > 0 && character === ' ' ? 'x' : character;
  });
  // A bracket that nothing closes holds nothing together.
  return depth === 0 ? characters.join('') : withoutCode;
}

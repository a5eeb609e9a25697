/** Tables of thousands of characters: what one takes, in places for one character (measured, RE2JS 2). */
const classSize = 100;

const repeat = /^\{(\d+)(,(\d*))?\}/;
/** Up to its end, or that of the pattern, every character stands for itself. */
const quoted = /^\\Q([^]*?)(?:\\E|$)/;
/** `(?i)`: nothing by itself, so that a repeat after it is about what stands before it. */
const flags = /^\(\?[\w-]*\)/;
/** `\p{Greek}`, `\pL`, `\x{10FFFF}`, or any other one. */
const escaped = /^\\(?:[pPx]\{[^}]*\}|[pP].|[^])/u;
const inClass = {
  named: String.raw`\[:\^?\w+:\]`,
  many: String.raw`\\[pP]\{[^}]*\}|\\[pP].|\\[dDsSwW]`,
  one: String.raw`\\x\{[^}]*\}|\\[^]|[^\]\\]`,
  /** It ends with any character but the end of the class. */
  toAnother: String.raw`(?:-(?!\])(?:\\x\{[^}]*\}|\\[^]|[^]))?`,
};
/** Up to its end; what is escaped or named, the end of a range, or what stands first, does not end it. */
const characterClass = new RegExp(
  String.raw`^\[\^?(?:\]${inClass.toAnother})?(?:${inClass.named}|${inClass.many}|(?:${inClass.one})${inClass.toAnother})*\]?`,
  'u',
);

interface Group {
  size: number;
  /** Of what a repeat would be about. */
  last: number;
}

function add(to: Group, size: number): void {
  to.size += size;
  to.last = size;
}

function sizeOfClass(text: string): number {
  return 1 + classSize * (text.match(/\\[pP]/g)?.length ?? 0);
}

/**
 * About how large a pattern of RE2 is once it is compiled, in places for one character: `a{0,1000}` has nine letters and takes two
 * thousand. Time and memory are in proportion, and known before they are spent.
 */
export function patternSize(pattern: string): number {
  const groups: [Group, ...Group[]] = [{ size: 0, last: 0 }];
  for (let rest = pattern; rest !== '';) {
    const group = groups[0];
    const [character = ''] = rest;
    let taken = character;
    const [times, least = '', comma, most = ''] = repeat.exec(rest) ?? [];
    if (times !== undefined) {
      taken = times;
      // Those that may be missing take a place more each.
      const [count, each] = comma === undefined ? [Number(least), 1] : [Number(most) || Number(least) + 1, 2];
      group.size += group.last * (Math.max(1, count) * each - 1);
      group.last *= Math.max(1, count) * each;
    } else if (flags.test(rest)) [taken = character] = flags.exec(rest) ?? [];
    else if (character === '(') groups.unshift({ size: 0, last: 0 });
    else if (character === ')') {
      if (groups.length > 1) groups.shift();
      add(groups[0], group.size + 2);
    } else if (rest.startsWith('\\Q')) {
      const [whole = '', literal = ''] = quoted.exec(rest) ?? [];
      taken = whole;
      [...literal].forEach(() => add(group, 1));
    } else if (character === '\\') {
      [taken = character] = escaped.exec(rest) ?? [];
      add(group, sizeOfClass(taken));
    } else if (character === '[') {
      [taken = character] = characterClass.exec(rest) ?? [];
      add(group, sizeOfClass(taken));
    } else if ('*+?'.includes(character)) {
      group.size += 1;
      group.last += 1;
    } else if (character === '|') group.size += 1;
    else add(group, 1);
    rest = rest.slice(taken.length);
  }
  return groups.reduce((sum, { size }) => sum + size, 0);
}

import { fail, type Library } from './library.ts';

/** What Go counts as a space, which is not what JavaScript trims. */
const space = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

function trim(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && space.test(text.charAt(start))) start++;
  while (end > start && space.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Letters of a text as CEL counts them: code points, not UTF-16. */
function lettersOf(text: string): string[] {
  return Array.from(text);
}

function indexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from;
  if (from < 0n) return fail(`the index ${from} is out of range`);
  const letters = lettersOf(text);
  if (from >= letters.length) return -1n;
  const before = letters.slice(0, Number(from)).join('').length;
  const at = text.indexOf(part, before);
  return at < 0 ? -1n : BigInt(lettersOf(text.slice(0, at)).length);
}

function lastIndexOf(text: string, part: string, from: bigint): bigint {
  if (part === '') return from;
  if (from < 0n) return fail(`the index ${from} is out of range`);
  const letters = lettersOf(text);
  if (from >= letters.length) return -1n;
  const before = letters.slice(0, Number(from)).join('').length;
  const at = text.lastIndexOf(part, before);
  return at < 0 ? -1n : BigInt(lettersOf(text.slice(0, at)).length);
}

function lastIndexOfAny(text: string, part: string): bigint {
  const { length } = lettersOf(text);
  if (part === '') return BigInt(length);
  return text === '' ? -1n : lastIndexOf(text, part, BigInt(length - 1));
}

function substring(text: string, from: bigint, to: bigint | undefined): string {
  const letters = lettersOf(text);
  const end = to ?? BigInt(letters.length);
  if (from < 0n || end < from || end > letters.length)
    return fail(`from ${from} to ${end} is no part of a text of ${letters.length} letters`);
  return letters.slice(Number(from), Number(end)).join('');
}

function charAt(text: string, index: bigint): string {
  const letters = lettersOf(text);
  if (index < 0n || index > letters.length) return fail(`the index ${index} is out of range`);
  return letters[Number(index)] ?? '';
}

/** @param most - parts; negative for all, the last one holds the rest */
function split(text: string, separator: string, most: bigint): string[] {
  const parts = separator === '' ? lettersOf(text) : text.split(separator);
  if (most === 0n) return [];
  const count = Number(most);
  if (count < 0 || parts.length <= count) return parts;
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

/** @param most - times; negative for all */
function replace(text: string, part: string, by: string, most: bigint): string {
  if (part !== '') {
    const parts = split(text, part, most < 0n ? most : most + 1n);
    return parts.join(by);
  }
  // Nothing stands before each letter and behind the last.
  const letters = lettersOf(text);
  const times = most < 0n ? letters.length + 1 : Number(most);
  const replaced = letters.map((letter, index) => (index < times ? by : '') + letter).join('');
  return letters.length < times ? replaced + by : replaced;
}

function join(list: readonly unknown[], separator: string): string {
  if (!list.every((item) => typeof item === 'string')) return fail('join takes a list of texts');
  return list.join(separator);
}

/** How letters are written between quotes that cannot stand there as they are. */
export const escapes: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** A text as it is written in an expression. */
export function quote(text: string): string {
  return `"${Array.from(text, (letter) => escapes[letter] ?? letter).join('')}"`;
}

/** The strings extension of CEL in its second version, which is Kubernetes'; `format` stands in format-text.ts. */
export const stringsLibrary: Library = {
  functions: {
    'string.charAt(int): string': charAt,
    'string.indexOf(string): int': (text: string, part: string) => indexOf(text, part, 0n),
    'string.indexOf(string, int): int': indexOf,
    'string.lastIndexOf(string): int': lastIndexOfAny,
    'string.lastIndexOf(string, int): int': lastIndexOf,
    'string.lowerAscii(): string': (text: string) =>
      text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    'string.upperAscii(): string': (text: string) =>
      text.replaceAll(/[a-z]+/g, (letters) => letters.toUpperCase()),
    'string.replace(string, string): string': (text: string, part: string, by: string) =>
      replace(text, part, by, -1n),
    'string.replace(string, string, int): string': replace,
    'string.split(string): list<string>': (text: string, separator: string) => split(text, separator, -1n),
    'string.split(string, int): list<string>': split,
    'string.substring(int): string': (text: string, from: bigint) => substring(text, from, undefined),
    'string.substring(int, int): string': substring,
    'string.trim(): string': trim,
    'list<string>.join(): string': (list: readonly unknown[]) => join(list, ''),
    'list<string>.join(string): string': join,
  },
  namespaces: { strings: { 'quote(string): string': quote } },
};

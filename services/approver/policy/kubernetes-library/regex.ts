import { RE2JS } from 're2js';
import { fail, type Library } from './library.ts';
import { patternSize } from './pattern-size.ts';

/** A tenth of a second to compile, and 4 MB (measured). */
const largestPattern = 5000;
/** What expressions make while they run is not kept without end: so many, and of this size together. */
const mostKept = 256;
const mostKeptSize = 50_000;
const compiled = new Map<string, RE2JS>();
let keptSize = 0;

/**
 * A pattern of RE2, which takes time in proportion to the text, whatever the pattern is.
 * @throws RE2JSSyntaxException, Error where it is too large
 */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known) return known;
  const size = patternSize(pattern);
  if (size > largestPattern)
    throw new Error(
      `it takes ${size} places once its repeats are written out: expected at most ${largestPattern}`,
    );
  const made = RE2JS.compile(pattern);
  if (compiled.size >= mostKept || keptSize + size > mostKeptSize) {
    compiled.clear();
    keptSize = 0;
  }
  keptSize += size;
  compiled.set(pattern, made);
  return made;
}

/** Why a text is no pattern, or undefined. */
export function patternError(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return message.replace(/^error parsing regexp: /, '');
  }
}

function patternOf(pattern: string): RE2JS {
  const error = patternError(pattern);
  return error === undefined ? compilePattern(pattern) : fail(`"${pattern}" is no pattern: ${error}`);
}

/** What is found, from left to right; nothing empty right behind what was found before, as in Go. */
function* findEach(text: string, pattern: string): Generator<string> {
  const matcher = patternOf(pattern).matcher(text);
  let lastEnd = -1;
  while (matcher.find()) {
    const [start, end] = [matcher.start(), matcher.end()];
    if (end > start || start !== lastEnd) yield text.slice(start, end);
    lastEnd = end;
  }
}

/** @param most - negative for all */
function findAll(text: string, pattern: string, most: bigint): string[] {
  const found = findEach(text, pattern);
  return [...(most < 0n ? found : found.take(Number(most)))];
}

export const regexLibrary: Library = {
  functions: {
    'string.matches(string): bool': (text: string, pattern: string) => patternOf(pattern).test(text),
    'matches(string, string): bool': (text: string, pattern: string) => patternOf(pattern).test(text),
    'string.find(string): string': (text: string, pattern: string) =>
      findEach(text, pattern).next().value ?? '',
    'string.findAll(string): list<string>': (text: string, pattern: string) => findAll(text, pattern, -1n),
    'string.findAll(string, int): list<string>': findAll,
  },
};

import { createHash } from 'node:crypto';

/** In JSON. Every word of a field that its kind bounds is shorter. */
const longestBytes = 300;

/**
 * A word as an event lists it, 500 of them together. What stands in an annotation or a ConfigMap may have hundreds of KB: of
 * that, its digest.
 * @param word - `name:value`
 */
export function boundedWord(word: string): string {
  if (Buffer.byteLength(JSON.stringify(word)) - 2 <= longestBytes) return word;
  return `${word.slice(0, word.indexOf(':'))}:sha256:${createHash('sha256').update(word).digest('hex')}`;
}

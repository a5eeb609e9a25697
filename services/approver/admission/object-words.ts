import { createHash } from 'node:crypto';
import { versionWord } from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';

/** What of an object the admission policies check, as words that change whenever it does. */
export type Words = readonly string[];

/** The word of a policy that was there and is gone. */
export const deletedWord = 'deleted';

/** Of a policy, a token or a set: this version of it. */
export function versionWords({ metadata }: Pick<StoredObject, 'metadata'>): Words {
  return [versionWord({ uid: metadata.uid, generation: metadata.generation ?? 1 })];
}

/** The name by which an object is listed among what does not count. */
export function objectName(plural: string, key: string): string {
  return `${plural}/${key}`;
}

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

import { RollcallError } from '@rollcall/shared/errors';
import { isLabelKey } from '@rollcall/shared/resources/label-syntax';
import { parseLabels } from '../labels-flag.ts';

/** What is to become of labels: null takes one away. */
export type LabelChanges = Readonly<Record<string, string | null>>;

const isLabel = (word: string): boolean => word.includes('=') || word.endsWith('-');

/**
 * Tells names from labels, as `kubectl label` has them: `key=value` sets one, `key-` takes it away.
 * @throws RollcallError USAGE where no label is named, or one twice
 */
export function parseLabelWords(words: readonly string[]): { names: string[]; changes: LabelChanges } {
  const names = words.filter((word) => !isLabel(word));
  const entries = words.filter(isLabel).flatMap(entriesOf);
  if (entries.length === 0)
    throw new RollcallError('USAGE', 'give a label: key=value, or key- to take it away');
  const twice = entries.find(([key], index) => entries.findIndex(([other]) => other === key) !== index);
  if (twice) throw new RollcallError('USAGE', `label "${twice[0]}" is named twice`);
  return { names, changes: Object.fromEntries(entries) };
}

function entriesOf(word: string): [string, string | null][] {
  if (word.includes('=')) return Object.entries(parseLabels(word));
  const key = word.slice(0, -1);
  if (isLabelKey(key)) return [[key, null]];
  throw new RollcallError('USAGE', `"${key}" is no label that Kubernetes takes`);
}

/** Somebody may name a label as an object names what it inherits. */
const valueOf = (labels: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

/** Labels that have another value, which is not lost without a word. */
export const overwritten = (before: Readonly<Record<string, string>>, changes: LabelChanges): string[] =>
  Object.entries(changes).flatMap(([key, value]) => {
    const known = valueOf(before, key);
    return value === null || known === undefined || known === value ? [] : [`${key}=${known}`];
  });

/** Whether they are as they are to be. */
export const isSo = (now: Readonly<Record<string, string>>, changes: LabelChanges): boolean =>
  Object.entries(changes).every(([key, value]) => (valueOf(now, key) ?? null) === value);

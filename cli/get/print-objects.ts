import type { Resource } from '@rollcall/shared/kubernetes';
import { printResult, say } from '../terminal/output.ts';
import { type ObjectFormat, objectText, type ShownObject, withoutManagers } from './object-text.ts';

/**
 * Prints objects as they are, for programs.
 * @param how.isOne - one was asked for by its name: the object itself, as with kubectl, and no list
 */
export function printObjects(
  objects: readonly ShownObject[],
  how: { resource: Resource; isOne: boolean; output: ObjectFormat },
): void {
  const { resource, isOne, output } = how;
  if (output === 'name') {
    for (const object of objects) printResult(objectText(object, resource, 'name'));
    if (objects.length === 0) say('No resources found.');
    return;
  }
  const items = objects.map(withoutManagers);
  const whole = isOne ? items[0] : { apiVersion: 'v1', kind: 'List', items };
  printResult(objectText(whole, resource, output));
}

/** How a command that changes an object tells what became of it. */
export type DoneFormat = 'text' | ObjectFormat;

/** What came of a command that changes an object. */
export interface Outcome {
  readonly words: string;
  /** Undefined: nothing was changed, only asked (`--dry-run`), or it is gone. */
  readonly object?: ShownObject;
  readonly resource?: Resource;
  /** The words are for people alone: `--dry-run`, or there was nothing to do. */
  readonly isNothingDone?: boolean;
}

/** In words for people, the object for programs. */
export function printOutcome({ words, object, resource, isNothingDone }: Outcome, output: DoneFormat): void {
  if (isNothingDone) say(words);
  else if (output === 'text' || !object || !resource) printResult(words);
  else printObjects([object], { resource, isOne: true, output });
}

/** The same for what is printed at once. */
export function printDone(
  words: string,
  object: ShownObject,
  { resource, output }: { resource: Resource; output: DoneFormat },
): void {
  printOutcome({ words, object, resource }, output);
}

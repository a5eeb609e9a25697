import type { z } from 'zod';
import { printableJson } from '../terminal/printable.ts';

const shownCharacters = 80;

/** A value of somebody else's object in a line for people. */
function shown(value: unknown): string {
  const text = printableJson(value);
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

/**
 * Reads a list item by item, so that one that is odd costs only itself.
 * @param what - an item is, in words
 * @returns a note for each item that is none
 */
export function readItems<Item>(
  given: unknown,
  what: string,
  schema: z.ZodType<Item>,
): { items: Item[]; notes: string[] } {
  const items: Item[] = [];
  const notes: string[] = [];
  // What is no list is one odd item.
  for (const each of [given ?? []].flat()) {
    const { data, success } = schema.safeParse(each);
    if (success) items.push(data);
    else notes.push(`${what} ${shown(each)} is not taken over: it cannot be read`);
  }
  return { items, notes };
}

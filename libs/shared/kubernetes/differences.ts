import { isDeepStrictEqual } from 'node:util';

/** A field that has another value. */
export interface Difference {
  /** As kubectl names fields: `spec.template.spec.containers[0].image`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where two values differ, as deep as both are of one shape; of lists of other lengths it is the whole list. */
export function differencesOf(before: unknown, after: unknown, path = ''): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => differencesOf(item, after[index], `${path}[${index}]`));
  if (!isPlain(before) || !isPlain(after)) return [{ path, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const field = /^[A-Za-z0-9_-]+$/.test(name) ? `${path === '' ? '' : '.'}${name}` : `[${name}]`;
    return differencesOf(before[name], after[name], `${path}${field}`);
  });
}

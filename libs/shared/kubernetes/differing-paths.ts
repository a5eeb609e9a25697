import { isDeepStrictEqual } from 'node:util';

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where two values differ, as kubectl names fields: `spec.template.spec.containers[0].image`. What is of another kind is one path. */
export function differingPaths(before: unknown, after: unknown, at = ''): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => differingPaths(item, after[index], `${at}[${index}]`));
  if (!isPlain(before) || !isPlain(after)) return [at];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const field = /^[A-Za-z0-9_-]+$/.test(name) ? `${at === '' ? '' : '.'}${name}` : `[${name}]`;
    return differingPaths(before[name], after[name], `${at}${field}`);
  });
}

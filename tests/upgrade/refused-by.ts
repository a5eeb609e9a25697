import { isDeepStrictEqual } from 'node:util';

/** JSON Schema, as events and kinds have it. */
export type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const partsOf = (schema: Schema, keyword: string): Record<string, Schema> =>
  (schema[keyword] ?? {}) as Record<string, Schema>;
const listOf = (schema: Schema, keyword: string): readonly unknown[] =>
  (schema[keyword] ?? []) as readonly unknown[];

/** Words for people. */
const saysNothing = new Set(['$schema', '$id', 'title', 'description', 'externalDocs']);
/** Compared below, each by what it means. */
const compared = new Set([
  'properties',
  'required',
  'enum',
  'items',
  'additionalProperties',
  'propertyNames',
]);
const isUpperBound = (keyword: string) => /^max[A-Z]|^maximum$/.test(keyword);
const isLowerBound = (keyword: string) => /^min[A-Z]|^minimum$/.test(keyword);

function limits(after: Schema, before: Schema, path: string): string[] {
  return Object.entries(after).flatMap(([keyword, value]) => {
    const was = before[keyword];
    if (saysNothing.has(keyword) || compared.has(keyword) || isDeepStrictEqual(value, was)) return [];
    const isWider =
      typeof value === 'number' && typeof was === 'number'
        ? (isUpperBound(keyword) && value > was) || (isLowerBound(keyword) && value < was)
        : false;
    return isWider ? [] : [`${path}: ${keyword} is ${JSON.stringify(value)}, was ${JSON.stringify(was)}`];
  });
}

function members(after: Schema, before: Schema, path: string): string[] {
  const now = partsOf(after, 'properties');
  const needed = listOf(after, 'required').filter(
    (name) =>
      // Whoever reads it puts the default there.
      !listOf(before, 'required').includes(name) && now[String(name)]?.['default'] === undefined,
  );
  return [
    ...needed.map((name) => `${path}.${String(name)}: is required`),
    ...Object.entries(partsOf(before, 'properties')).flatMap(([name, was]) => {
      const is = now[name];
      if (is !== undefined) return refusedBy(is, was, `${path}.${name}`);
      return isSchema(after['additionalProperties']) ? [] : [`${path}.${name}: is not there any more`];
    }),
  ];
}

/**
 * What `after` refuses, or drops, of all that `before` takes; empty: whatever was written by the one can be read by the other.
 * What is only written otherwise counts as refused: that is for a person to look at.
 */
export function refusedBy(after: Schema, before: Schema, path = ''): string[] {
  const lost =
    after['enum'] === undefined
      ? []
      : before['enum'] === undefined
        ? ['anything else']
        : listOf(before, 'enum').filter((value) => !listOf(after, 'enum').includes(value));
  return [
    ...limits(after, before, path),
    ...members(after, before, path),
    ...lost.map((value) => `${path}: ${String(value)} is not allowed any more`),
    ...['items', 'additionalProperties', 'propertyNames'].flatMap((keyword) => {
      const [is, was] = [after[keyword], before[keyword]];
      if (is === undefined || isDeepStrictEqual(is, was)) return [];
      return isSchema(is) && isSchema(was)
        ? refusedBy(is, was, `${path}[${keyword}]`)
        : [`${path}: ${keyword} is another`];
    }),
  ];
}

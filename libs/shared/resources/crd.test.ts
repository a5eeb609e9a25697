import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { crdOf, kinds } from './index.ts';
import { defineKind } from './object.ts';

const kindWith = (field: z.ZodType) =>
  defineKind({
    kind: 'Thing',
    plural: 'things',
    singular: 'thing',
    shortNames: [],
    scope: 'Cluster',
    description: 'A thing.',
    columns: [],
    spec: z.object({ field }),
    status: z.object({}),
  });

test.each([
  { name: 'a union', field: z.union([z.string(), z.int()]) },
  { name: 'null', field: z.string().nullable() },
  { name: 'anything', field: z.unknown() },
])('$name is refused: a structural schema cannot say it', ({ field }) => {
  expect(() => crdOf(kindWith(field))).toThrow('.field');
});

interface Schema {
  type?: string;
  pattern?: string;
  format?: string;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  enum?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
}

interface CrdSpec {
  versions: { schema: { openAPIV3Schema: Schema } }[];
}

/** What could grow without end; a pattern of fixed length counts as a limit. */
function unlimited(schema: Schema, path: string): string[] {
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    unlimited(child, `${path}.${name}`),
  );
  if (schema.items) children.push(...unlimited(schema.items, `${path}[]`));
  if (schema.additionalProperties) children.push(...unlimited(schema.additionalProperties, `${path}.*`));
  const isLimited =
    (schema.type === 'string' &&
      (schema.maxLength ?? schema.enum ?? schema.format ?? schema.pattern?.endsWith('{55}$'))) ||
    (schema.type === 'array' && schema.maxItems) ||
    (schema.type === 'object' && (!schema.additionalProperties || schema.maxProperties)) ||
    !['string', 'array', 'object'].includes(schema.type ?? '');
  return isLimited ? children : [path, ...children];
}

describe.each(kinds)('$kind', (kind) => {
  const spec = crdOf(kind)['spec'] as unknown as CrdSpec;
  const properties = spec.versions[0]?.schema.openAPIV3Schema.properties;

  test.each(['spec', 'status'])('nothing in its %s can grow without end', (part) => {
    expect(unlimited(properties?.[part] ?? {}, part)).toEqual([]);
  });
});

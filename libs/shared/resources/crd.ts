import { z } from 'zod';
import { apiGroup } from './names.ts';
import type { Column, Kind } from './object.ts';

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** Words of JSON Schema that mean the same in a structural schema of Kubernetes. */
const keptWords = new Set([
  'type',
  'format',
  'description',
  'default',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
]);

/** Words that are translated below. `propertyNames` is dropped: Kubernetes cannot say it, and label keys are checked in use. */
const translatedWords = new Set(['$schema', 'properties', 'items', 'additionalProperties', 'propertyNames']);

/**
 * The CustomResourceDefinition of a kind, derived from its zod schemas.
 * Throws an Error when a schema uses something that a structural schema cannot say (a union, null): better here than a CRD that
 * the API server takes and that then prunes or refuses the field.
 */
export function crdOf(kind: Kind): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.plural}.${apiGroup}`,
      // A release of Helm that goes must not take every object with it.
      annotations: { 'helm.sh/resource-policy': 'keep' },
    },
    spec: {
      group: apiGroup,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [...kind.shortNames],
        categories: ['rollcall'],
      },
      scope: kind.scope,
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns.map(printerColumn),
          ...(kind.selectableFields && {
            selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })),
          }),
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

function printerColumn({ name, type, jsonPath, wide, description }: Column): JsonObject {
  return { name, type, jsonPath, ...(wide && { priority: 1 }), ...(description && { description }) };
}

function rootSchema(kind: Kind): JsonObject {
  return {
    type: 'object',
    description: kind.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: { description: 'What is wanted.', ...structuralOf(kind.spec) },
      status: { description: 'What is known. Written by the projector only.', ...structuralOf(kind.status) },
    },
    ...(kind.rules && {
      'x-kubernetes-validations': kind.rules.map(({ rule, message }) => ({ rule, message })),
    }),
  };
}

/** @param schema - read as input: a field with a default is optional for whoever writes it */
function structuralOf(schema: z.ZodType): JsonObject {
  const jsonSchema = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline' });
  return structural(jsonSchema as JsonObject, '');
}

function structural(node: JsonObject, path: string): JsonObject {
  const isIntOrString = node['x-kubernetes-int-or-string'] === true;
  const result: JsonObject = {};
  for (const [word, value] of Object.entries(node)) {
    if (keptWords.has(word) || word.startsWith('x-kubernetes-')) result[word] = value;
    else if (!translatedWords.has(word) && !(isIntOrString && word === 'anyOf')) {
      throw new Error(`a structural schema cannot say "${word}" at "${path}"`);
    }
  }
  if (isIntOrString) return result;
  if (typeof node['type'] !== 'string') throw new Error(`no single type at "${path}"`);
  if (node['type'] === 'integer') limitInteger(result);
  if (isObject(node['properties'])) {
    result['properties'] = mapValues(node['properties'], (child, name) =>
      structural(child, `${path}.${name}`),
    );
  }
  // `false` (a closed object) is what pruning does anyway, and `{}` (an open one) is not structural.
  if (isObject(node['additionalProperties']) && node['type'] === 'object' && !node['properties']) {
    result['additionalProperties'] = structural(node['additionalProperties'], `${path}.*`);
  }
  if (isObject(node['items'])) result['items'] = structural(node['items'], `${path}[]`);
  // zod checks a date-time by a pattern of several lines; the API server has the format.
  if (node['format'] === 'date-time') delete result['pattern'];
  return result;
}

/** zod's "safe integer" limits say nothing to a reader; int64 is what Kubernetes calls it. */
function limitInteger(result: JsonObject): void {
  result['format'] = 'int64';
  if (result['minimum'] === Number.MIN_SAFE_INTEGER) delete result['minimum'];
  if (result['maximum'] === Number.MAX_SAFE_INTEGER) delete result['maximum'];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues(object: JsonObject, change: (child: JsonObject, name: string) => JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, child]) => {
      if (!isObject(child)) throw new Error(`"${name}" is no schema`);
      return [name, change(child, name)];
    }),
  );
}

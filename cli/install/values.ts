import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseBoundedYaml } from '@rollcall/shared/config/bounded-yaml';
import { RollcallError } from '@rollcall/shared/errors';
import type { ValuesRule } from './agent/agent-values.ts';
import { isSet, valueAt } from './template.ts';

type Values = Readonly<Record<string, unknown>>;

const isMapping = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As Helm merges values: mappings key by key, everything else is replaced, and null takes a value back. */
function mergeValues(base: Values, over: Values): Values {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isMapping(before) && isMapping(value) ? mergeValues(before, value) : value;
  }
  return merged;
}

/** @throws RollcallError CONFIG_INVALID without the text of the file, which may hold a token */
export function readValuesFile(path: string): Values {
  let content: unknown;
  try {
    content = parseBoundedYaml(readFileSync(path, 'utf8')) ?? {};
  } catch (cause) {
    const isNoFile = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    throw new RollcallError(
      'CONFIG_INVALID',
      `cannot read the values file "${path}": ${isNoFile ? 'there is no such file' : 'it is no YAML'}`,
    );
  }
  if (isMapping(content)) return content;
  throw new RollcallError('CONFIG_INVALID', `the values file "${path}" is not a mapping of names to values`);
}

function isMissing(values: Values, { oneOf }: ValuesRule): boolean {
  return oneOf.every((path) => !isSet(valueAt(values, path)));
}

/**
 * The values to install with.
 * @param layers - over the defaults, the later ones win
 * @throws RollcallError CONFIG_INVALID naming all mistakes together
 */
export function checkValues<Shape extends z.ZodRawShape>(
  layers: readonly Values[],
  schema: z.ZodObject<Shape, z.core.$strict>,
  rules: readonly ValuesRule[],
): z.output<z.ZodObject<Shape, z.core.$strict>> {
  const parsed = schema.safeParse(layers.reduce(mergeValues, schema.parse({})));
  if (!parsed.success) {
    throw new RollcallError('CONFIG_INVALID', `the values are not valid\n${z.prettifyError(parsed.error)}`);
  }
  const missing = rules.filter((rule) => isMissing(parsed.data, rule)).map(({ message }) => message);
  if (missing.length === 0) return parsed.data;
  throw new RollcallError('CONFIG_INVALID', `the values are not valid\n${missing.join('\n')}`);
}

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseBoundedYaml } from '@rollcall/shared/config/bounded-yaml';
import { RollcallError } from '@rollcall/shared/errors';
import { type Condition, holds, parseCondition } from './condition.ts';

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

/** Values that are refused, by command and chart in the same words: a JSON Schema would not say them so that they help. */
export interface ValuesRule {
  /** Where all of these conditions hold (`Condition`). */
  readonly where: readonly string[];
  readonly message: string;
}

/** @throws TypeError for a condition that is none */
export function ruleConditions({ where }: ValuesRule): Condition[] {
  return where.map((text) => {
    const condition = parseCondition(text);
    if (condition) return condition;
    throw new TypeError(`"${text}" is no condition`);
  });
}

/** What is wrong with values, one message for each rule that refuses them. */
export function refusals(values: Values, rules: readonly ValuesRule[]): string[] {
  const broken = rules.filter((rule) => ruleConditions(rule).every((one) => holds(one, values)));
  return broken.map(({ message }) => message);
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
  const wrong = refusals(parsed.data, rules);
  if (wrong.length === 0) return parsed.data;
  throw new RollcallError('CONFIG_INVALID', `the values are not valid\n${wrong.join('\n')}`);
}

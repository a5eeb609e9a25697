import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import { parseBoundedYaml } from './bounded-yaml.ts';

/** Where a service's settings come from; the first one that names a value wins: flags, environment, file, default. */
export interface ConfigSources {
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A YAML file; read only if it is named. */
  readonly file?: string | undefined;
  /** What the caller itself knows, below all of these: `rollcall up` hands its services addresses and paths this way. */
  readonly values?: Readonly<Record<string, unknown>>;
}

/** `busUrl` → `ROLLCALL_BUS_URL`: one rule, so that nobody has to look a variable up. */
function environmentName(key: string): string {
  return `ROLLCALL_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function flagName(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function readFile(path: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = parseBoundedYaml(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new RollcallError(
      'CONFIG_INVALID',
      `cannot read the configuration file "${path}": ${String(cause)}`,
      { cause },
    );
  }
  if (content === null || content === undefined) return {};
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new RollcallError(
      'CONFIG_INVALID',
      `the configuration file "${path}" is not a mapping of names to values`,
    );
  }
  return content as Record<string, unknown>;
}

/**
 * Reads a service's settings once, at its start.
 * @returns the parsed shape: durations in ms, defaults filled in
 * @throws RollcallError CONFIG_INVALID naming all mistakes together, each with its name and rule
 */
export function loadConfig<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  sources: ConfigSources,
): z.output<z.ZodObject<Shape, z.core.$strict>> {
  const merged: Record<string, unknown> = {
    ...sources.values,
    ...(sources.file ? readFile(sources.file) : {}),
  };
  for (const key of Object.keys(schema.shape)) {
    const value = sources.flags[flagName(key)] ?? sources.environment[environmentName(key)];
    if (value !== undefined) merged[key] = value;
  }
  const parsed = schema.safeParse(merged);
  if (parsed.success) return parsed.data;
  throw new RollcallError(
    'CONFIG_INVALID',
    `the configuration is not valid\n${z.prettifyError(parsed.error)}`,
  );
}

/** One line a setting, for `--help`: flag, variable, what it is for. */
export function describeConfig(
  schema: z.ZodObject,
): { flag: string; variable: string; description: string }[] {
  return Object.entries(schema.shape).map(([key, field]) => ({
    flag: flagName(key),
    variable: environmentName(key),
    description: (field as z.ZodType).description ?? '',
  }));
}

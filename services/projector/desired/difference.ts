import { isDeepStrictEqual } from 'node:util';
import { printableLine } from '@rollcall/shared/text';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asJson(value: unknown): Json {
  if (Array.isArray(value)) return value.map((inner) => (inner === undefined ? null : asJson(inner)));
  if (typeof value === 'string') return printableLine(value);
  if (typeof value !== 'object' || value === null) return value as Json;
  const result: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key];
    if (inner !== undefined) result[printableLine(key)] = asJson(inner);
  }
  return result;
}

/**
 * The plain data of an object as JSON has it: without what is undefined. A third of the time that writing and reading JSON takes.
 * Every text in it is one line that a terminal shows as it is: members and services choose much of it, and kubectl prints it.
 */
export function plain(value: object): JsonObject {
  return asJson(value) as JsonObject;
}

/**
 * The JSON merge patch that turns one object into the other: `null` removes, lists are replaced whole.
 * @returns an empty patch when they are equal
 */
export function mergePatchBetween(current: JsonObject, desired: JsonObject): JsonObject {
  const patch: Record<string, Json> = {};
  for (const [key, want] of Object.entries(desired)) {
    const have = current[key];
    if (have === want) continue;
    if (isObject(have) && isObject(want)) {
      const inner = mergePatchBetween(have, want);
      if (Object.keys(inner).length > 0) patch[key] = inner;
    } else if (!isDeepStrictEqual(have, want)) patch[key] = want;
  }
  for (const key of Object.keys(current)) if (!Object.hasOwn(desired, key)) patch[key] = null;
  return patch;
}

/** Where a projection comes from: it moves with every event, so it is no reason to write by itself, and written along. */
const witnesses = ['observed', 'observedFacts'];

/**
 * The patch for a status, or undefined when there is nothing to show.
 * @param current - as the API server gave it: plain data already
 * @param withWitness - write even if only the witnesses differ
 * @returns `fields`: what changes beside the witnesses, to tell a transition from a detail
 */
export function statusPatch(
  current: object | undefined,
  desired: object,
  withWitness = false,
): { patch: JsonObject; fields: readonly string[] } | undefined {
  const have = (current ?? {}) as JsonObject;
  const want = plain(desired);
  // A witness stays where the newer projection has none: the API server refuses to remove it.
  for (const name of witnesses)
    if (!(name in want) && name in have) Object.assign(want, { [name]: have[name] });
  const patch = mergePatchBetween(have, want);
  const fields = Object.keys(patch).filter((name) => !witnesses.includes(name));
  const isNothing = fields.length === 0 && !(withWitness && Object.keys(patch).length > 0);
  return isNothing ? undefined : { patch, fields };
}

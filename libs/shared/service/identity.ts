import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';

const busUser = z.strictObject({ jwt: z.string(), seed: z.string() });

/** What every service holds: who it is on the bus, and which hub and epoch it belongs to. */
const identitySchema = z.looseObject({
  hubId: z.string(),
  epoch: z.int().min(1),
  bus: busUser,
});

function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('CONFIG_INVALID', `cannot read the identity file "${path}"`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch {
    // No cause: the parser's message quotes the file, which holds keys.
    throw new RollcallError('CONFIG_INVALID', `the identity file "${path}" is no JSON`);
  }
}

/**
 * Reads a service's identity file (mode 0600, made by `rollcall up` or `rollcall install hub`).
 * @param more - what this service needs beside its bus user
 * @throws RollcallError CONFIG_INVALID naming the missing parts, never their values
 */
export function readIdentity<Shape extends z.ZodRawShape>(
  path: string,
  more: Shape,
): z.output<typeof identitySchema> & z.output<z.ZodObject<Shape>> {
  const schema = identitySchema.extend(more);
  const parsed = schema.safeParse(readJson(path));
  if (!parsed.success) {
    throw new RollcallError(
      'CONFIG_INVALID',
      `the identity file "${path}" is not valid\n${z.prettifyError(parsed.error)}`,
    );
  }
  return parsed.data as z.output<typeof identitySchema> & z.output<z.ZodObject<Shape>>;
}

export { busUser as busUserSchema };

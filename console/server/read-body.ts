import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * What a page asks for, where it is of that form.
 * @throws RollcallError USAGE
 */
export async function readBody<Body>(context: Context, schema: z.ZodType<Body>): Promise<Body> {
  const body: unknown = await context.req.json().catch(() => undefined);
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  throw new RollcallError('USAGE', `nothing that this console knows: ${z.prettifyError(read.error)}`);
}

/** A longer one is not read. */
export const limitBody = (maxSize: number): MiddlewareHandler =>
  bodyLimit({ maxSize, onError: (context) => context.text('Payload Too Large', 413) });

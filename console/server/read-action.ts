import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import { type Action, actionVerbs } from '../rows.ts';

/** The limits of the objects that an action writes into. */
const action = z.strictObject({
  verb: z.enum(actionVerbs),
  target: z.string().min(1).max(253),
  isId: z.boolean().optional(),
  reason: z.string().max(256).optional(),
  replaceKey: z.string().max(64).optional(),
  key: z.string().min(1).max(64).optional(),
  set: z.string().min(1).max(63).optional(),
  dryRun: z.boolean().optional(),
});

/** @throws RollcallError USAGE */
export function readAction(body: unknown): Action {
  const read = action.safeParse(body);
  if (read.success) return read.data;
  throw new RollcallError('USAGE', `no action that this console knows: ${z.prettifyError(read.error)}`);
}

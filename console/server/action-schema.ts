import { z } from 'zod';
import { type Action, actionVerbs } from '../rows/index.ts';

/** The limits of the objects that an action writes into. */
export const actionSchema: z.ZodType<Action> = z.strictObject({
  verb: z.enum(actionVerbs),
  target: z.string().min(1).max(253),
  isId: z.boolean().optional(),
  reason: z.string().max(256).optional(),
  replaceKey: z.string().max(64).optional(),
  key: z.string().min(1).max(64).optional(),
  set: z.string().min(1).max(63).optional(),
  dryRun: z.boolean().optional(),
});

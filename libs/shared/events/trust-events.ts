import { z } from 'zod';
import { defineEvent } from './define-event.ts';

/** The trust-keeper's section of a cluster. */
export const cutSchema = z.looseObject({ key: z.string(), atMs: z.int() });
export type Cut = z.infer<typeof cutSchema>;

export const cut = defineEvent({
  kind: 'cluster',
  writer: 'trust-keeper',
  section: cutSchema,
  type: 'cut',
  description: 'The server was seen to refuse a revoked key. Follows revoked.',
});

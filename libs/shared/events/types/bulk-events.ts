import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** The cluster that was let in, by which request. */
const countedSchema = z.looseObject({ clusterId: z.string(), requestId: z.string() });
export const counted = defineEvent({
  kind: 'hub',
  writer: 'approver',
  section: countedSchema,
  type: 'counted',
  description:
    'A policy let a cluster in while policies count the fleet. Of aggregate `fleet`, in one batch with approved: two approvals cannot be decided on the same counts. Once for each such approval.',
});

const bulkOperationSchema = z.looseObject({
  clusterId: z.string(),
  clusterName: z.string(),
  /** Digest of the operation, so that a confirmation is about this operation and no later one. */
  digest: z.string(),
  /** The event that would follow, such as `leaving`, and who asked for it. */
  type: z.string(),
  person: z.string(),
});
/** How many members people put out lately, and what waits because it is a bulk change. Of the one aggregate `bulk`. */
const bulkSchema = z.looseObject({
  /** How many were acted on within the last minute, by second of hub time. */
  recent: z.array(z.looseObject({ atMs: z.int(), count: z.int(), ofPeople: z.int().optional() })).default([]),
  /** What waits for a confirmation; `id` names exactly this list. */
  held: z
    .looseObject({ id: z.string(), limit: z.int(), operations: z.array(bulkOperationSchema) })
    .optional(),
  /** What a person confirmed and was not acted on yet; void some minutes after `atMs`. */
  confirmed: z.looseObject({ atMs: z.int(), operations: z.array(bulkOperationSchema) }).optional(),
});
export type BulkChanges = z.infer<typeof bulkSchema>;

const operations = { kind: 'hub', writer: 'approver', section: bulkSchema } as const;
export const bulkCounted = defineEvent({
  ...operations,
  type: 'bulk-counted',
  description:
    'A person put a member out. Of aggregate `bulk`, in one batch with that decision, so that replicas count together.',
});
export const bulkHeld = defineEvent({
  ...operations,
  type: 'bulk-held',
  description:
    'People want more members out within a minute than the limit allows: the operations listed wait for `bulk-confirmed`. Repeated for each operation that joins them, with a new id.',
});
export const bulkConfirmed = defineEvent({
  ...operations,
  type: 'bulk-confirmed',
  description: 'A person confirmed the operations that an id of `bulk-held` lists; they are acted on now.',
});

import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** Old events were copied into a file, and are deleted from the stream. */
const archivedSchema = z.looseObject({
  file: z.string().min(1).max(255),
  /** Of the file: who changes it is found out. */
  digest: z.string().startsWith('sha256:'),
  /** In the file. */
  events: z.int().min(1),
  /** Nothing later is missing from the stream on purpose. */
  throughSequence: z.int().min(1),
  /** Missing on purpose, by this and all earlier archives. */
  total: z.int().min(1),
  /** Of these, in this epoch of the hub. */
  ofEpoch: z.int().min(1),
  /** Whether all of them have been deleted; until then the command goes on with the same file. */
  isDone: z.boolean(),
  /** Account and machine of who ran the command, as they call themselves. */
  operator: z.string().max(300),
});
export type Archived = z.infer<typeof archivedSchema>;

export const archived = defineEvent({
  kind: 'hub',
  writer: 'archive',
  section: archivedSchema,
  type: 'archived',
  description:
    'Old events were copied into an archive and are deleted from the stream, of aggregate `archive`: once before the first is deleted, and once when all are. What is missing beyond it was lost.',
});

export const archiveAggregate = { kind: 'hub', id: 'archive' } as const;

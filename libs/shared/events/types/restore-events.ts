import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** A hub began a new epoch from a backup. */
const restoredSchema = z.looseObject({
  /** The epoch that begins. */
  epoch: z.int().min(2),
  /** The last event that the backup had; whatever came after it in the epoch before is lost. */
  throughSequence: z.int().min(0),
  backupTakenAtMs: z.int(),
  /**
   * Fingerprints of the keys that the servers' revocation list named at that moment: who has one of them was put out, also where
   * the event that said so is lost, and Kubernetes shows nothing of the cluster any more.
   */
  outKeys: z.array(z.string()).optional(),
});
export type Restored = z.infer<typeof restoredSchema>;

export const restored = defineEvent({
  kind: 'hub',
  writer: 'restore',
  section: restoredSchema,
  type: 'restored',
  description:
    'The hub was restored from a backup: the first event of its new epoch, of aggregate `epoch`. Followed by restore-reviewed; until then nothing is decided and nothing is shown.',
});

/** As many words as fit into one event: the longest, of an operation, takes some 170 bytes. */
export const mostSpentInEvent = 1000;

/** A part of what people had said before a restore. */
const spentNotedSchema = z.looseObject({
  epoch: z.int().min(2),
  spent: z.array(z.string()).max(mostSpentInEvent),
});
export type SpentNoted = z.infer<typeof spentNotedSchema>;

export const spentNoted = defineEvent({
  kind: 'hub',
  writer: 'approver',
  section: spentNotedSchema,
  type: 'spent-noted',
  description:
    'What of before a restore counts no more, as far as it does not fit into restore-reviewed; of the aggregates `epoch-spent-0`, `epoch-spent-1` and so on. In one batch with restore-reviewed and before it; a later restore writes them anew.',
});

/** What the approver found in Kubernetes that the backup did not know. */
const restoreReviewedSchema = z.looseObject({
  epoch: z.int().min(2),
  /** Clusters whose access Kubernetes showed as taken back: it was taken back again. */
  takenBack: z.int().min(0),
  /** Clusters with a decision or an operation of a person from before, which gives something: it waits until somebody says it again. */
  held: z.int().min(0),
  /**
   * Decisions (digest) and operations (uid of the object, and id) that stood there from before and count no more. In one place, because
   * the clusters that some of them are about are not known; the first thousand.
   */
  spent: z.array(z.string()).optional(),
  /** How many `spent-noted` have the others. */
  spentParts: z.int().min(0).optional(),
});
export type RestoreReviewed = z.infer<typeof restoreReviewedSchema>;

export const restoreReviewed = defineEvent({
  kind: 'hub',
  writer: 'approver',
  section: restoreReviewedSchema,
  type: 'restore-reviewed',
  description:
    'The approver has looked at everything that Kubernetes showed when the hub was restored. From here on it decides. Follows restored; once for each.',
});

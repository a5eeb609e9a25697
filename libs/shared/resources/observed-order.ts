import { z } from 'zod';
import { text } from './text.ts';

/**
 * Order is (epoch, sequence): a hub restored from a backup starts a new epoch, so an old epoch with a higher sequence is older.
 * The API server refuses to go back (422); going to the same place again is allowed, because redelivery is normal.
 */
const neverBack = [
  {
    rule: 'self.epoch > oldSelf.epoch || (self.epoch == oldSelf.epoch && self.sequence >= oldSelf.sequence)',
    message: 'older than what is shown already (epoch, sequence)',
    reason: 'FieldValueInvalid',
  },
];

const epoch = z.int().min(0).describe('Epoch of the hub: one more after every restore from a backup.');
const sequence = z.int().min(0).describe('Sequence in the stream, within the epoch.');

/** Which event a status shows. Doubles as witness of the history: a lost or rolled-back tail of the stream is found by it. */
export const observed = () =>
  z
    .object({ epoch, sequence, digest: text(100).optional().describe('Digest of that event.') })
    .meta({ description: 'The newest event that this status shows.', 'x-kubernetes-validations': neverBack });

/** Which message of the stream of facts a status shows. */
export const observedFacts = () =>
  z
    .object({ epoch, sequence })
    .meta({ description: 'The newest facts that this status shows.', 'x-kubernetes-validations': neverBack });

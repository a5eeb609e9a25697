import { durationMs } from './duration-schema.ts';
import { formatDuration } from './duration.ts';

const hourMs = 3_600_000;

/** Of members, where nothing else is set. */
export const usualMemberLifeMs = 24 * hourMs;

/** No credential of an agent is issued for longer: a registrar that is set to more does not start. */
export const longestCredentialLifeMs = 72 * hourMs;

/**
 * A key that was taken back stays on the revocation list at least for that long: the longest life, and an hour for clocks that differ.
 * An account-controller that is set to less does not start. The two are one rule, so that no credential outlives its revocation.
 */
export const revocationsCoverMs = longestCredentialLifeMs + hourMs;

/** Schema of the life of a credential: milliseconds. */
export const credentialLifeMs = durationMs
  .refine(
    (lifeMs) => lifeMs <= longestCredentialLifeMs,
    `is longer than ${formatDuration(longestCredentialLifeMs)}, for which the revocation list keeps a key out`,
  )
  .refine((lifeMs) => lifeMs > 0, 'is over at once');

import type { Decision } from './types/approver-events.ts';
import type { Identity } from './types/registrar-events.ts';

/** Judging takes milliseconds: a request that a policy approves later than this was held before. */
const atOnceMs = 60_000;

/**
 * Who let a cluster in, for figures of how long that took: hours for which a request was held until an office opened say nothing
 * of how fast policies are, and a person's minutes neither.
 * @returns undefined where nobody was waited for: a new key that the agent's former one signed for
 */
export function admittedBy(
  decision: Decision,
  { requestedAtMs }: Identity['request'],
): 'policy' | 'policy-later' | 'person' | undefined {
  if (decision.by.person !== undefined) return 'person';
  if (decision.by.policy === undefined) return undefined;
  return decision.decidedAtMs - requestedAtMs > atOnceMs ? 'policy-later' : 'policy';
}

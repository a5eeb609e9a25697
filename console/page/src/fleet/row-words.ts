import type { ClusterRow } from '../../../rows/index.ts';
import { stateWords } from '../parts/state-words.ts';

/** Of one that asks, here as everywhere. */
export const waitingWords = 'Waiting for a person';

export const stateOfRow = ({ state, isWaiting }: Pick<ClusterRow, 'state' | 'isWaiting'>): string =>
  isWaiting ? waitingWords : stateWords[state];

const held = /^rule "(?<rule>[^"]*)" of policy "(?<policy>[^"]*)" holds: (?<why>[^;]*)/;

/** Why it is so, what matters first: a line may be cut at its end. */
export function whyOfRow({
  state,
  reason,
  message,
}: Pick<ClusterRow, 'state' | 'reason' | 'message'>): string {
  if (state === 'ready') return '';
  if (message === undefined) return reason;
  const { rule, policy, why } = held.exec(message)?.groups ?? {};
  if (why !== undefined) return `${why.replace(/\.$/, '')}, by rule ${rule} of policy ${policy}`;
  const first = message.split(/; (?=a person with )/, 1)[0] ?? message;
  return `${first} (${reason})`;
}

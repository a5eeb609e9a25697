import type { RequestRow, TokenRow } from '../../../rows/index.ts';

/** Nobody has decided yet, or a rule left it to a person. */
export const isWaiting = ({ result }: RequestRow): boolean => result === 'Held' || result === 'Pending';

/** Why, without which rule it was, and how to decide: for that there are buttons here. */
function reasonOf({ reason, message }: Pick<RequestRow, 'reason' | 'message'>): string {
  const why = message
    .replace(/(?:; )?a person with (?:verb )?create on .*$/s, '')
    .replace(/^rule "[^"]*" of policy "[^"]*" holds: /, '')
    .replace(/\.$/, '');
  return why === '' ? reason : why;
}

/** Who or what has it wait for a person, and why; of one that was decided, what the hub says. */
export function whyItWaits(row: Omit<RequestRow, 'key'>): string {
  const { result, policy, rule } = row;
  const why = reasonOf(row);
  const inBrackets = why === '' ? '' : ` (${why})`;
  if (result === 'Pending') return `Not judged yet${inBrackets}`;
  if (result !== 'Held') return why;
  if (policy === undefined) return `Waits because the hub itself asks for a person${inBrackets}`;
  const by = rule === undefined ? `policy ${policy}` : `rule ${rule} of policy ${policy}`;
  return `Waits because ${by} asks for a person${inBrackets}`;
}

/** What makes it different from a first request; these want a second look. */
export function warningsOf({ knownKey, decidedBefore }: RequestRow): readonly string[] {
  return [
    ...(knownKey === undefined ? [] : ['known id, another key']),
    ...(decidedBefore?.verdict === 'Deny' ? ['denied before'] : []),
  ];
}

/** Who made the token and how often it was used, as its status says; empty where it is not known. */
export function tokenWords(token: Pick<TokenRow, 'by' | 'uses' | 'used'> | undefined): string {
  if (!token) return '';
  const { by, uses, used } = token;
  const taken = uses === 'unlimited' ? 'unlimited uses' : `${used} of ${uses} uses taken`;
  return ` (${by === undefined ? '' : `made by ${by}, `}${taken})`;
}

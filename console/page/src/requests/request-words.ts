import type { RequestRow } from '../../../rows.ts';

/** Nobody has decided yet, or a rule left it to a person. */
export const isWaiting = ({ result }: RequestRow): boolean => result === 'Held' || result === 'Pending';

/** Who or what holds it. */
export function holderOf({ result, policy, rule }: RequestRow): string {
  if (result === 'Pending') return 'Not judged yet';
  if (policy === undefined) return 'Held by the hub itself';
  return `Held by ${rule === undefined ? policy : `${policy}/${rule}`}`;
}

/**
 * Why it waits, without what stands beside it already: which rule it was, and how to decide, for which there are buttons here.
 */
export function whyItWaits({ reason, message }: RequestRow): string {
  const why = message
    .replace(/(?:; )?a person with create on .*$/s, '')
    .replace(/^rule "[^"]*" of policy "[^"]*" holds: /, '');
  return why === '' ? reason : why;
}

/** What makes it different from a first request; these want a second look. */
export function warningsOf({ knownKey, decidedBefore }: RequestRow): readonly string[] {
  return [
    ...(knownKey === undefined ? [] : ['known id, another key']),
    ...(decidedBefore?.verdict === 'Deny' ? ['denied before'] : []),
  ];
}

import type { TokenDeclaration, TokenUses } from '@rollcall/shared/events';
import type { Refusal } from './refusal.ts';

export interface TokenUse {
  readonly declaration: TokenDeclaration | undefined;
  readonly uses: TokenUses | undefined;
  /** This agent key has used the token for this cluster before: a lost answer must not cost a second use. */
  readonly usedByThisKey: boolean;
  readonly clusterName: string;
  readonly clientId: string | undefined;
  readonly nowMs: number;
}

type Rule = (use: TokenUse & { declaration: TokenDeclaration }) => Refusal | undefined;

function fits(name: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[^a-z0-9-]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(name);
}

const expired: Rule = ({ declaration: { expiresAtMs, name }, nowMs }) =>
  expiresAtMs === undefined || nowMs < expiresAtMs
    ? undefined
    : {
        code: 'TOKEN_EXPIRED',
        message: `the token "${name}" expired at ${new Date(expiresAtMs).toISOString()}`,
      };

const otherName: Rule = ({ declaration: { clusterName: pattern }, clusterName }) =>
  pattern === undefined || fits(clusterName, pattern)
    ? undefined
    : {
        code: 'TOKEN_NAME_MISMATCH',
        message: `the token is for clusters named "${pattern}", not "${clusterName}"`,
      };

const otherClient: Rule = ({ declaration: { clientId: wanted }, clientId }) =>
  wanted === undefined || wanted === clientId
    ? undefined
    : { code: 'TOKEN_NAME_MISMATCH', message: `the token is for the client id "${wanted}"` };

const usedUp: Rule = ({ declaration: { uses: allowed, name }, uses, usedByThisKey }) =>
  usedByThisKey || allowed === 'unlimited' || (uses?.used ?? 0) < allowed
    ? undefined
    : {
        code: 'TOKEN_USED_UP',
        message: `the token "${name}" was made for ${allowed} use(s), and they are spent`,
      };

/** What a holder is told first: the end of the token, then that it is for somebody else, then that it is spent. */
const rules: readonly Rule[] = [expired, otherName, otherClient, usedUp];

/** Whether a token lets this cluster ask. The proof that the agent holds it is checked before. */
export function refuseToken(use: TokenUse): Refusal | undefined {
  const { declaration } = use;
  if (!declaration || declaration.withdrawn) {
    return { code: 'TOKEN_UNKNOWN', message: 'the hub does not know this token, or it was withdrawn' };
  }
  for (const rule of rules) {
    const refusal = rule({ ...use, declaration });
    if (refusal) return refusal;
  }
  return undefined;
}

import {
  clusterIdOf,
  isRecent,
  isTakenBack,
  type TokenDeclaration,
  type TokenUses,
} from '@rollcall/shared/events';
import type { Refusal } from '../replies/refusal.ts';

export interface TokenUse {
  readonly declaration: TokenDeclaration | undefined;
  readonly uses: TokenUses | undefined;
  /** The name the cluster has, or would get. */
  readonly clusterName: string;
  readonly clusterId: string;
  readonly nowMs: number;
  /** It was made before the hub was restored, and nobody has renewed it. */
  readonly isVoid?: boolean;
  readonly maxPerDay: number;
}

type Rule = (use: TokenUse & { declaration: TokenDeclaration }) => Refusal | undefined;

/**
 * Whether a name fits a pattern with `*` (any characters) and `?` (one). By hand: a person's pattern as a regular expression
 * could take for ever. Where a character does not fit, only the last `*` takes one more: that is enough, and never explodes.
 */
function fits(name: string, pattern: string): boolean {
  let inName = 0;
  let inPattern = 0;
  let afterStar = -1;
  let starTakesTo = 0;
  while (inName < name.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      afterStar = ++inPattern;
      starTakesTo = inName;
    } else if (wanted === '?' || wanted === name[inName]) {
      inPattern++;
      inName++;
    } else if (afterStar >= 0) {
      inPattern = afterStar;
      inName = ++starTakesTo;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(inPattern));
}

const expired: Rule = ({ declaration: { expiresAtMs, name }, nowMs }) =>
  expiresAtMs === undefined || nowMs < expiresAtMs
    ? undefined
    : {
        code: 'TOKEN_EXPIRED',
        message: `the token "${name}" expired at ${new Date(expiresAtMs).toISOString()}`,
      };

const unknown: Refusal = {
  code: 'TOKEN_UNKNOWN',
  message: 'the hub does not know this token, or it was withdrawn',
};

/** What the problem is, people find on the hub; it is none of the holder's business. */
const notTaken: Rule = ({ declaration }) => {
  const { withdrawn, name } = declaration;
  if (!withdrawn) return undefined;
  if (isTakenBack(declaration)) return unknown;
  return {
    code: 'TOKEN_UNKNOWN',
    message: `the token "${name}" is not taken at the moment: its status on the hub says why`,
  };
};

const oldEpoch: Rule = ({ declaration: { name }, isVoid }) =>
  isVoid === true
    ? {
        code: 'TOKEN_OLD_EPOCH',
        message: `the token "${name}" was made before the hub was restored from a backup, and nobody has renewed it`,
      }
    : undefined;

const otherName: Rule = ({ declaration: { clusterName: pattern }, clusterName }) =>
  pattern === undefined || fits(clusterName, pattern)
    ? undefined
    : {
        code: 'TOKEN_NAME_MISMATCH',
        message: `the token is for clusters named "${pattern}", not "${clusterName}"`,
      };

const otherClient: Rule = ({ declaration: { clientId: wanted }, clusterId }) =>
  wanted === undefined || clusterIdOf(wanted) === clusterId
    ? undefined
    : { code: 'TOKEN_NAME_MISMATCH', message: `the token is for the client id "${wanted}"` };

const usedUp: Rule = ({ declaration: { uses: allowed, name }, uses }) =>
  allowed === 'unlimited' || (uses?.used ?? 0) < allowed
    ? undefined
    : {
        code: 'TOKEN_USED_UP',
        message: `the token "${name}" was made for ${allowed === 1 ? 'one cluster' : `${allowed} clusters`}, and is spent`,
      };

const dayMs = 86_400_000;

/** A day begins with the first use after the one before. */
function usesOfDay(uses: TokenUses | undefined, nowMs: number) {
  const { day } = uses ?? {};
  const isStill = day && isRecent(day.sinceMs, { nowMs, withinMs: dayMs });
  const { sinceMs, used, bytes = 0 } = isStill ? day : { sinceMs: nowMs, used: 0 };
  return { sinceMs, used, bytes };
}

/** Where a policy decides at once no cap on what waits holds a token for any number of clusters: it could fill the history. */
const usedOften: Rule = ({ declaration: { name }, uses, nowMs, maxPerDay }) => {
  const { used } = usesOfDay(uses, nowMs);
  const message = `the token "${name}" was used ${used} times within a day`;
  return used < maxPerDay ? undefined : { code: 'HUB_BUSY', message };
};

/** How large a request is, and how large those of its token within a day may be together. */
export interface RequestSize {
  /** The token, as people know it. */
  readonly name: string;
  readonly uses: TokenUses | undefined;
  /** As the history keeps it. */
  readonly bytes: number;
  readonly maxBytesPerDay: number;
  readonly nowMs: number;
}

/**
 * A request may be forty times as large as those of our agents, with what is reported beside it, and so may what follows from it: the number alone bounds nothing that
 * a disk would notice.
 */
export function refuseSize({ name, uses, bytes, maxBytesPerDay, nowMs }: RequestSize): Refusal | undefined {
  const { bytes: before } = usesOfDay(uses, nowMs);
  if (before + bytes <= maxBytesPerDay) return undefined;
  const message = `the requests with the token "${name}" within a day have ${before} bytes, and this one ${bytes}`;
  return { code: 'HUB_BUSY', message };
}

/** The uses of a token with one more. */
export function usesAfter(
  uses: TokenUses | undefined,
  use: { clusterId: string; bytes: number; nowMs: number },
): TokenUses {
  const { clusterId, nowMs } = use;
  const { sinceMs, used, bytes } = usesOfDay(uses, nowMs);
  return {
    used: (uses?.used ?? 0) + 1,
    lastUsedBy: clusterId,
    lastUsedAtMs: nowMs,
    day: { sinceMs, used: used + 1, bytes: bytes + use.bytes },
  };
}

/** What a holder is told first: the end of the token, then that it is not good, that it is for somebody else, then that it is spent or used too often. */
const rules: readonly Rule[] = [expired, notTaken, oldEpoch, otherName, otherClient, usedUp, usedOften];

/** Whether a token is for this one predefined cluster: by its client id, or by its name without wildcard (FL-4). */
export function tokenNames(
  { clientId, clusterName }: TokenDeclaration,
  cluster: { clusterId: string; clusterName: string },
): boolean {
  if (clientId !== undefined) return clusterIdOf(clientId) === cluster.clusterId;
  return clusterName === cluster.clusterName;
}

/**
 * Whether a token lets this cluster ask. A key that asks again about its own request has been answered before: a lost reply
 * costs no second use, and a cluster that has left needs a new one. The proof that the agent holds it is checked before.
 */
export function refuseToken(use: TokenUse): Refusal | undefined {
  const { declaration } = use;
  if (!declaration) return unknown;
  for (const rule of rules) {
    const refusal = rule({ ...use, declaration });
    if (refusal) return refusal;
  }
  return undefined;
}

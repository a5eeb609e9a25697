import { errorCatalogue, isErrorCode } from '@rollcall/shared/errors';
import {
  type AuthorUnknown,
  isTakenBack,
  type TokenDeclaration,
  type TokenRecord,
} from '@rollcall/shared/events';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { asReason, codeAsReason } from '@rollcall/shared/resources/condition-reason';
import { cutText } from '@rollcall/shared/text';
import { conditionList, type Judged } from './condition-list.ts';
import { hubTime } from './hub-time.ts';

export type TokenStatus = NonNullable<ClusterRegistrationToken['status']>;

/** Fields that every use changes; they may lag. */
export const tokenUseFields: readonly string[] = ['used', 'lastUsedBy'];

/** What became of a token that the hub is to make, before its key is declared. */
function judgePublication({ publication, declaration }: TokenRecord, atMs: number): Judged {
  const type = 'Ready';
  const error = publication?.error;
  if (error) {
    const hint = isErrorCode(error.code) ? ` ${errorCatalogue[error.code].hint}` : '';
    return {
      type,
      status: 'False',
      reason: codeAsReason(error.code),
      message: `${error.message}.${hint}`,
      atMs: publication.atMs,
    };
  }
  const secret = `Secret "${declaration?.namespace}/${declaration?.name}"`;
  return { type, status: 'Unknown', reason: 'Publishing', message: `the hub makes ${secret}`, atMs };
}

/** Nothing while the Secret is there; the token is good without it, so this is a condition of its own. */
function judgeSecret({ publication, declaration }: TokenRecord): Judged[] {
  const atMs = publication?.secretGoneAtMs;
  if (atMs === undefined) return [];
  const secret = `Secret "${declaration?.namespace}/${declaration?.name}"`;
  const message = `somebody deleted ${secret}, and the hub does not make it again; whoever has the token that was in it can ask with it. To end it, delete this object; made again under the same name it gets a new token and a new Secret`;
  return [{ type: 'Published', status: 'False', reason: 'SecretGone', message, atMs }];
}

/**
 * Whether this very end is shown as reached. It stays so: replicas whose clocks differ would else take turns to write, as
 * fast as they can, until the last one's clock has come there.
 */
function isShownExpired({ status }: ClusterRegistrationToken, expiresAtMs: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.reason === 'Expired' && status?.expires === hubTime(expiresAtMs);
}

function judge(
  record: TokenRecord,
  declaration: TokenDeclaration,
  { current, nowMs }: { current: ClusterRegistrationToken; nowMs: number },
): Judged {
  const { uses } = record;
  const { expiresAtMs, declaredAtMs, problem, publicKey, uses: allowed } = declaration;
  const type = 'Ready';
  const status = 'False';
  if (isTakenBack(declaration)) {
    const atMs = record.lastOf.approver?.timeMs ?? nowMs;
    const message = 'it was taken back; nobody gets in with it any more';
    return { type, status, reason: 'Withdrawn', message, atMs };
  }
  if (expiresAtMs !== undefined && (nowMs >= expiresAtMs || isShownExpired(current, expiresAtMs))) {
    const message = `it expired at ${hubTime(expiresAtMs)}; create a new one (--ttl sets how long it lives)`;
    return { type, status, reason: 'Expired', message, atMs: expiresAtMs };
  }
  if (problem) {
    const reason = asReason(problem.reason, 'Invalid');
    return { type, status, reason, message: problem.message, atMs: declaredAtMs };
  }
  if (declaration.voidSinceEpoch !== undefined) {
    const atMs = record.lastOf.approver?.timeMs ?? nowMs;
    const { name, namespace } = declaration;
    const message = `it was made before the hub was restored from a backup; if it is still meant: rollcall token renew ${name} -n ${namespace}`;
    return { type, status, reason: 'OldEpoch', message, atMs };
  }
  if (uses && allowed !== 'unlimited' && uses.used >= allowed) {
    const message = `it was used ${uses.used} of ${allowed} times; create a new one (--uses sets how many clusters it lets in)`;
    return { type, status, reason: 'UsedUp', message, atMs: uses.lastUsedAtMs };
  }
  if (publicKey === undefined) return judgePublication(record, declaredAtMs);
  return { type, status: 'True', reason: 'Usable', message: 'clusters may ask with it', atMs: declaredAtMs };
}

/**
 * The status of a token.
 * @param record - of its key; of a token that the hub is to make, the one on which it was asked for until there is a key
 * @returns undefined while the approver has not declared this very object
 */
export function desiredToken(
  record: TokenRecord,
  current: ClusterRegistrationToken,
  nowMs: number,
): TokenStatus | undefined {
  const { declaration, uses, head } = record;
  if (!declaration || declaration.uid !== current.metadata.uid) return undefined;
  const judged = judge(record, declaration, { current, nowMs });
  return {
    conditions: conditionList(
      judged.status === 'True' ? [judged, ...judgeSecret(record)] : [judged],
      current.status?.conditions ?? [],
      current.metadata.generation,
    ),
    ...(declaration.problem && declaration.expiresAtMs === undefined
      ? {}
      : { expires: declaration.expiresAtMs === undefined ? 'never' : hubTime(declaration.expiresAtMs) }),
    used: uses?.used ?? 0,
    ...(uses ? { lastUsedBy: cutText(uses.lastUsedBy, 63) } : {}),
    ...(head ? { observed: { epoch: head.epoch, sequence: head.sequence, digest: head.digest } } : {}),
  };
}

/**
 * The status of a younger object with the key of another one, a copied manifest for example: only the older counts.
 * @param declaration - of the key, by the object that counts
 */
export function statusOfCopy(
  { namespace, name, declaredAtMs }: TokenDeclaration,
  current: ClusterRegistrationToken,
): TokenStatus {
  const older = `token "${namespace}/${name}"`;
  const message = `${older} is older and has the same public key, so that one alone counts; delete this one, or make a token of its own`;
  const judged = { type: 'Ready', status: 'False', reason: 'KeyTaken', message, atMs: declaredAtMs } as const;
  return {
    conditions: conditionList([judged], current.status?.conditions ?? [], current.metadata.generation),
  };
}

/** The status of a token that the approver does not declare. */
export function statusOfUnknownAuthor(
  { reason, message }: AuthorUnknown,
  current: ClusterRegistrationToken,
  nowMs: number,
): TokenStatus {
  const judged = { type: 'Ready', status: 'False', reason, message, atMs: nowMs } as const;
  return {
    conditions: conditionList([judged], current.status?.conditions ?? [], current.metadata.generation),
  };
}

/** When the status changes by time alone: in how many ms from now, or never. */
export function tokenEndsInMs(record: TokenRecord, nowMs: number): number | undefined {
  const endsAtMs = record.declaration?.expiresAtMs;
  return endsAtMs === undefined || endsAtMs <= nowMs ? undefined : endsAtMs - nowMs;
}

/**
 * When the object of an expired token goes: in how many ms from now, 0 or less when it is time, undefined while it has no end
 * or has not reached it. Its history stays in the events.
 */
export function tokenGoesInMs(
  record: TokenRecord,
  current: ClusterRegistrationToken,
  at: { nowMs: number; keptForMs: number },
): number | undefined {
  const { expiresAtMs, uid } = record.declaration ?? {};
  if (expiresAtMs === undefined || uid !== current.metadata.uid || at.nowMs < expiresAtMs) return undefined;
  return expiresAtMs + at.keptForMs - at.nowMs;
}

import {
  type ClusterRecord,
  currentIdentity,
  draft,
  type EventDraft,
  type Identity,
  nameTaken,
  refused,
  requested,
  tokenUsed,
} from '@rollcall/shared/events';
import { codeAsReason } from '@rollcall/shared/resources/condition-reason';
import { takeKey } from '../members/key-holder.ts';
import type { Refusal } from '../replies/refusal.ts';
import { changedRequest } from './join-claims.ts';
import type { JoinAttempt } from './join-attempt.ts';
import { describeIdentity, describeShortly, type JoinCase, type JoinContext, openCase } from './join-case.ts';
import { refuseBytes, refuseJoin, storedRefusals } from './join-rules.ts';
import { usesAfter } from './token-check.ts';

export interface JoinVerdict {
  readonly drafts: readonly EventDraft[];
  readonly refusal?: Refusal;
  /** How large the new request is, with its facts. */
  readonly bytes?: number;
}

/** The same key asks about the same request again: the reply is the one it would have had, and no token is used. */
function isRepetition({ identity, decision }: ClusterRecord, attempt: JoinAttempt): boolean {
  if (!identity) return false;
  // A request that was late on its way must not begin a new registration: no decision could tell it from the old one. A refusal may stand
  // there since; what was decided before it was decided about the registration that ended.
  if (identity.state === 'left') return identity.request.id === attempt.id;
  if (identity.state === 'refused') return decision?.requestId === attempt.id;
  // Another key may have asked between the approval and the admission.
  return [identity.request.key, identity.admittedKey, decision?.approvedKey].includes(attempt.agentKey);
}

function storeRefusal(join: JoinCase, refusal: Refusal): EventDraft[] {
  const { attempt, context } = join;
  const { cluster } = context;
  const before = cluster.identity;
  const untouched = before === undefined || before.state === 'refused' || before.state === 'left';
  const isSame =
    before?.state === 'refused' &&
    before.refusal?.code === refusal.code &&
    before.request.key === attempt.agentKey;
  const hasRoom = context.refusalsLeft > 0 && context.refuseNew?.code !== 'HUB_FULL';
  if (!untouched || isSame || !hasRoom || !storedRefusals.has(refusal.code)) return [];
  const section = { ...describeShortly(join), state: 'refused' as const, refusal: { ...refusal } };
  const reason = codeAsReason(refusal.code);
  return [draft(refused, cluster, { reason, message: refusal.message, section })];
}

function asksBy({ tokenName, memberBeforeRestore }: Identity['request']): string {
  return memberBeforeRestore
    ? 'with credentials of before the hub was restored'
    : `with token "${tokenName}"`;
}

/** As it is kept: the request in the history, its facts beside that. */
const bytesOf = (kept: object): number => Buffer.byteLength(JSON.stringify(kept));

/** All that a new request writes: itself, the use of its token, and its name and key as taken. */
function beginRequest(join: JoinCase, section: Identity, bytes: number): EventDraft[] {
  const { attempt, context, token } = join;
  const { cluster, name, nowMs } = context;
  const { clusterName, clusterId } = section;
  const drafts = [
    draft(requested, cluster, {
      reason: 'Requested',
      message: `cluster "${clusterName}" asks to join ${asksBy(section.request)}`,
      section,
    }),
  ];
  if (token) {
    drafts.push(
      draft(tokenUsed, token, {
        reason: 'Used',
        message: `used by cluster "${clusterName}"`,
        section: usesAfter(token.uses, { clusterId, bytes, nowMs }),
      }),
    );
  }
  // Who comes back takes its name again: a release that is on its way then loses the race.
  const comesBack =
    name.holder === clusterId && cluster.identity !== undefined && currentIdentity(cluster) === undefined;
  if (name.aggregate.id === clusterName && (name.holder === undefined || comesBack)) {
    drafts.push(
      draft(nameTaken, name, {
        reason: 'Taken',
        message: `taken by cluster ${clusterId}`,
        section: { name: clusterName, clusterId, free: false },
      }),
    );
  }
  return [...drafts, ...takeKey(context.key, attempt.agentKey, clusterId)];
}

/**
 * Judges a request to join, before any policy is asked: is it genuine, and is it new?
 *
 * A new one is written together with the use of its token and the taking of its name and key, all or nothing, so that fifty racers
 * with one token have one winner.
 * @returns for a repetition no drafts, or what has changed of a request that waits; a refusal, stored where people would look for it
 */
export function judgeJoin(attempt: JoinAttempt, context: JoinContext): JoinVerdict {
  if (isRepetition(context.cluster, attempt)) {
    // What is left of a full place is for what the hub has promised already (principle 12).
    const isFull = context.refuseNew?.code === 'HUB_FULL';
    return { drafts: isFull ? [] : changedRequest(attempt, context) };
  }
  const join = openCase({ attempt, context });
  const refusal = refuseJoin(join);
  if (refusal) return { drafts: storeRefusal(join, refusal), refusal };
  const section = describeIdentity(join);
  const bytes = bytesOf(section.request) + bytesOf(attempt.body.facts);
  const tooLarge = refuseBytes(join, section.request.tokenName, bytes);
  return tooLarge ? { drafts: [], refusal: tooLarge } : { drafts: beginRequest(join, section, bytes), bytes };
}

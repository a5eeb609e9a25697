import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  type ClusterRecord,
  clusterRecord,
  draft,
  type EventDraft,
  type Identity,
  isRecent,
  type JoinRequest,
  keyAggregate,
  keyRecord,
  type KeyRecord,
  requested,
  rotated,
} from '@rollcall/shared/events';
import type { ReplyResult, ReceivedRequest } from '@rollcall/shared/protocol';
import {
  isPublicNkey,
  isSignedBy,
  keyFingerprint,
  noTokenId,
  onlySignedBy,
  type SignedMessage,
} from '@rollcall/shared/trust';
import { type ReplySettings, refusalResult, rotateKeyOf, keyStatusResult } from '../replies/reply.ts';
import { refuseForeignKey, refuseManyKeys, refuseSecondKey, takeKey } from './key-holder.ts';
import type { MemberChanges } from '../limits/member-changes.ts';
import type { Refusal } from '../replies/refusal.ts';
import { keyStatusOf } from '../replies/key-status.ts';

export interface RotationAttempt {
  readonly id: string;
  readonly agentKey: string;
  readonly newKey: string;
  readonly signedAtMs: number;
  /** The ask as both keys signed it. */
  readonly proof: SignedMessage;
}

/** What a rotation that was asked for is judged by. */
export interface RotationAttemptContext extends RotationContext {
  /** Of the new key. */
  readonly newKey: KeyRecord;
  /** Of what is left of the place for events, an agent gets nothing by its own request. */
  readonly isFull: boolean;
  /** All members together have replaced their keys as often as they may. */
  readonly areMany?: boolean;
}

export interface RotationContext {
  readonly record: ClusterRecord;
  readonly nowMs: number;
}

/** Whoever has a key must not fill the history with new ones. */
const leastBetweenMs = 60_000;

function refuseRotation(
  attempt: RotationAttempt,
  { record, newKey: known, nowMs, isFull, areMany = false }: RotationAttemptContext,
): Refusal | undefined {
  const { identity, decision } = record;
  const { agentKey, newKey, proof } = attempt;
  const status = keyStatusOf(record, agentKey);
  if (status.kind === 'refused') return status.refusal;
  if (status.kind !== 'member' || !identity)
    return { code: 'TOKEN_UNKNOWN', message: 'only a key that is in can name its successor' };
  if (newKey === agentKey || !isPublicNkey(newKey, 'user') || !isSignedBy(proof, newKey))
    return { code: 'PROOF_INVALID', message: 'the new key has not signed the request' };
  if (decision?.revokedKeys.some(({ key }) => key === newKey))
    return { code: 'CLUSTER_REVOKED', message: 'the new key was taken back before' };
  const byKey = refuseForeignKey(known, identity.clusterId);
  if (byKey) return byKey;
  const isUnderWay = decision?.retiringKey !== undefined || identity.admittedKey !== agentKey;
  const { rotation, requestedAtMs } = identity.request;
  const isJustAsked = rotation && isRecent(requestedAtMs, { nowMs, withinMs: leastBetweenMs });
  if (isUnderWay || isJustAsked) return { code: 'HUB_BUSY', message: 'the key was replaced a moment ago' };
  const isRequested = rotateKeyOf(record, agentKey).rotateKey !== undefined;
  if (isFull && !isRequested)
    return { code: 'HUB_FULL', message: 'the disk for the events of this hub is nearly full' };
  if (areMany && !isRequested)
    return { code: 'HUB_BUSY', message: 'the members of this hub have replaced very many keys within a day' };
  const byDay = isRequested ? undefined : refuseManyKeys(record, { nowMs });
  return byDay ?? refuseSecondKey(record, { agentKey, isOwner: true });
}

/** What was asked for with the former key stays; of another key's request nothing does. */
function requestBefore({ request }: Identity, agentKey: string) {
  const { key, tokenId, tokenName, labels, droppedLabels, clusterSet, claimed } = request;
  if (key !== agentKey)
    return { tokenId: noTokenId, tokenName: '', labels: {}, droppedLabels: [], claimed: { labels: {} } };
  const set = clusterSet === undefined ? {} : { clusterSet };
  return { tokenId, tokenName, labels, droppedLabels, claimed, ...set };
}

/**
 * A member asks for another key in the place of its own (ADR 10). What comes of it is the approver's to decide; the event carries
 * what both keys signed, so that it need not believe the registrar.
 * @returns no drafts for a repetition
 */
export function judgeRotation(
  attempt: RotationAttempt,
  context: RotationAttemptContext,
): { drafts: EventDraft[]; refusal?: Refusal } {
  const { record, nowMs } = context;
  const { identity, decision } = record;
  const { id, agentKey, newKey, signedAtMs, proof } = attempt;
  const isRotated = decision?.retiringKey === agentKey && decision.approvedKey === newKey;
  const isAsked = identity?.request.key === newKey && identity.request.rotation?.from === agentKey;
  if (isRotated || (isAsked && decision?.approvedKey === agentKey)) return { drafts: [] };
  const refusal = refuseRotation(attempt, context);
  if (refusal || !identity) return { drafts: [], ...(refusal ? { refusal } : {}) };
  const request: JoinRequest = {
    ...requestBefore(identity, agentKey),
    id,
    key: newKey,
    keyFingerprint: keyFingerprint(newKey),
    requestedAtMs: nowMs,
    signedAtMs,
    rotation: { from: agentKey, proof: onlySignedBy(proof, [agentKey, newKey]) },
  };
  const message = `the key that is in (${keyFingerprint(agentKey)}) asks for another one in its place (${request.keyFingerprint})`;
  const what = { reason: 'RotationRequested', message, section: { ...identity, request } };
  const taken = takeKey(context.newKey, newKey, identity.clusterId);
  return { drafts: [draft(requested, record, what), ...taken] };
}

/** The agent renews with its new key, so it needs the former one no more. */
export function decideRotated({ record, nowMs }: RotationContext, agentKey: string): EventDraft[] {
  const { identity, decision } = record;
  const former = decision?.retiringKey;
  if (!identity || former === undefined || identity.rotatedFrom !== former) return [];
  if (decision?.approvedKey !== agentKey || identity.admittedKey !== agentKey) return [];
  if (identity.rotatedAtMs !== undefined) return [];
  const message = `the agent uses its new key (${keyFingerprint(agentKey)})`;
  const section = { ...identity, rotatedAtMs: nowMs };
  return [draft(rotated, record, { reason: 'Rotated', message, section })];
}

/** For the former key: the credentials of the one that takes over. */
export function rotatedResult(
  { record, nowMs }: RotationContext,
  settings: ReplySettings,
): Extract<ReplyResult, { kind: 'rotated' }> | undefined {
  const { approvedKey: key, retiringKey } = record.decision ?? {};
  if (key === undefined || retiringKey === undefined) return undefined;
  const about = { record, agentKey: key, nowMs, random: Math.random() };
  const result = keyStatusResult({ kind: 'member' }, about, settings);
  return result.kind === 'admitted' ? { ...result, kind: 'rotated', key } : undefined;
}

/** Answers verb `rotate`: `done` when it is an event, and `rotated` once the new key is in. */
export function createRotationHandler(
  log: EventLog,
  settings: ReplySettings,
  { isFull, changes }: { isFull(): boolean; changes: MemberChanges },
): (received: ReceivedRequest) => Promise<ReplyResult> {
  return async ({ agentKey, request, envelope: proof }) => {
    if (request.verb !== 'rotate') return { kind: 'done' };
    const { clusterId, newKey } = request.body;
    let refusal: Refusal | undefined;
    const { context, drafts } = await decideAndAppend(
      log,
      {
        async gather() {
          const nowMs = Date.now();
          const [cluster, key] = await Promise.all([
            log.read({ kind: 'cluster', id: clusterId }),
            log.read(keyAggregate(newKey)),
          ]);
          const areMany = changes.isSpent('rotation', nowMs);
          const record = clusterRecord(cluster);
          return { record, newKey: keyRecord(key), nowMs, isFull: isFull(), areMany };
        },
        decide(given: RotationAttemptContext) {
          const verdict = judgeRotation(
            { id: request.id, agentKey, newKey, signedAtMs: request.atMs, proof },
            given,
          );
          refusal = verdict.refusal;
          return verdict.drafts;
        },
      },
      { correlation: request.id, traceparent: request.traceparent },
    );
    if (refusal) return refusalResult(refusal);
    const { record, nowMs } = context;
    const { decision } = record;
    const isRequested = rotateKeyOf(record, agentKey).rotateKey !== undefined;
    if (drafts.length > 0 && !isRequested) changes.note('rotation', nowMs);
    const isIn = decision?.retiringKey === agentKey && decision.approvedKey === newKey;
    return (isIn ? rotatedResult(context, settings) : undefined) ?? { kind: 'done' };
  };
}

/** Writes that the agent of a cluster was heard with its new key, where that is news. */
export async function noteRotated(
  log: EventLog,
  about: { clusterId: string; agentKey: string },
  trace: Trace,
): Promise<void> {
  const { clusterId, agentKey } = about;
  await decideAndAppend(
    log,
    {
      gather: async () => ({
        record: clusterRecord(await log.read({ kind: 'cluster', id: clusterId })),
        nowMs: Date.now(),
      }),
      decide: (context) => decideRotated(context, agentKey),
    },
    trace,
  );
}

import {
  approved,
  banned,
  type ClusterRecord,
  currentIdentity,
  type Decision,
  draft,
  type EventDraft,
  type Identity,
  isNewer,
  leaving,
  revoked,
  rotationRequested,
  unbanned,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import {
  allKeysTaken,
  approvalAfter,
  isAboutRequest,
  type SectionBase,
  withAllRevoked,
} from '../decision/decision-section.ts';
import type { ClusterObject } from './cluster-change.ts';
import { knownOtherKey } from '../requests/judgement.ts';

/** `spec.operation` of a ManagedCluster, where it is complete. */
export interface Operation {
  readonly id: string;
  /** Tells it apart from every other: the same id in another object is another operation. */
  readonly word: string;
  readonly verb: 'Revoke' | 'Ban' | 'Unban' | 'ReplaceKey' | 'RotateKey' | 'ForceDelete';
  readonly keyFingerprint: string | undefined;
  readonly by: string;
  readonly reason: string | undefined;
}

/** How many ids of operations that were acted on are remembered. */
export const mostRemembered = 64;

/** @returns undefined where nobody asks, or nobody says who: the admission policies do not let that through */
export function readOperation({ metadata, spec }: ClusterObject): Operation | undefined {
  const { operation } = spec;
  if (!operation?.by) return undefined;
  const { id, verb, by, reason } = operation;
  const word = `${metadata.uid}/${id}`;
  return { id, word, verb, keyFingerprint: operation.keyFingerprint, by, reason };
}

interface Question extends SectionBase {
  readonly identity: Identity;
  readonly previous: Decision;
  readonly record: ClusterRecord;
  readonly operation: Operation;
  readonly shown: { readonly epoch: number; readonly sequence: number } | undefined;
  readonly spent?: ReadonlySet<string> | undefined;
}
/** Of a cluster that came after the backup of a restored hub, a ban may be all that is known. */
type Asked = Omit<Question, 'identity'> & { readonly identity: Identity | undefined };
type Objection = (question: Asked) => boolean;
/** What follows from a verb; undefined where there is nothing that it could be about. */
type Verb = (question: Question) => EventDraft | undefined;

const wasActedOn: Objection = ({ previous, operation }) =>
  previous.operations?.includes(operation.id) ?? false;
/**
 * As with decisions: once people have asked for something, a projection older than our last word may show what was taken back since.
 * What puts a member out counts all the same: it names the key, and must not wait for who shows nothing.
 */
const isFromBefore: Objection = ({ previous, record, shown, operation }) => {
  if (operation.verb === 'Revoke' || operation.verb === 'Ban') return false;
  const last = record.lastOf.approver;
  return previous.operations !== undefined && last !== undefined && (!shown || isNewer(last, shown));
};
/** A ban keeps whoever asks from being known. */
const hasNoRequest: Objection = ({ identity, operation }) =>
  operation.verb !== 'Unban' && currentIdentity({ identity }) === undefined;
const isOfFormerEpoch: Objection = ({ spent, operation }) => spent?.has(operation.word) ?? false;

export const objections: readonly Objection[] = [wasActedOn, isOfFormerEpoch, isFromBefore, hasNoRequest];

const names = ({ operation }: Question, key: string | undefined): boolean =>
  key !== undefined && operation.keyFingerprint === keyFingerprint(key);

function says({ operation }: Pick<Question, 'operation'>, reason: string, does: string) {
  const why = operation.reason ? `: ${operation.reason}` : '';
  return { by: { person: operation.by }, reason, message: `${operation.by} ${does}${why}` };
}

/**
 * Whether the person was shown a key of who is in: the one that is in, or one before it that the agent has replaced by itself. Who
 * takes another key all the time must not be out of reach for who is shown the one before.
 */
const namesMember = (question: Question): boolean => {
  const { approvedKey, retiringKey, revokedKeys } = question.previous;
  if (approvedKey === undefined) return false;
  const replaced = revokedKeys.filter(({ rotated, left }) => rotated === true && left !== true);
  return [approvedKey, retiringKey, ...replaced.map(({ key }) => key)].some((key) => names(question, key));
};

/**
 * The key that is in is out, and so is the one that it is replacing, whichever of them the person was shown. A request of another
 * key that waits goes on waiting: the operation is not about that one.
 */
const revoke: Verb = (question) => {
  const { record, identity, previous, nowMs } = question;
  const { approvedKey, retiringKey, ...rest } = previous;
  if (!namesMember(question)) return undefined;
  const outcome = says(question, 'PersonRevoked', 'revokes the key of this cluster');
  const revokedKeys = withAllRevoked(
    previous.revokedKeys,
    [approvedKey, identity.admittedKey, retiringKey],
    nowMs,
  );
  const words = previous.key === approvedKey ? { ...outcome, verdict: 'revoked' as const } : {};
  return draft(revoked, record, {
    ...outcome,
    section: { ...rest, ...words, revokedKeys, decidedAtMs: nowMs },
  });
};

/** About the cluster; the key says which of its registrations the person saw. */
const ban: Verb = (question) => {
  const { record, identity, previous } = question;
  const isOver = previous.verdict === 'banned' || previous.verdict === 'leaving';
  const keys = [previous.key, identity.admittedKey, identity.request.key];
  if (isOver || !(namesMember(question) || keys.some((key) => names(question, key)))) return undefined;
  const outcome = says(question, 'PersonBanned', 'bans this cluster');
  return draft(banned, record, {
    ...outcome,
    section: allKeysTaken(question, { ...outcome, verdict: 'banned' }),
  });
};

/** A request that waited waits again; a key that was taken back stays so, and makes room for another one that asks. */
const unban = (question: Asked): EventDraft | undefined => {
  const { record, previous, nowMs } = question;
  if (previous.verdict !== 'banned') return undefined;
  const outcome = says(question, 'Unbanned', 'takes the ban back');
  const isOut = previous.revokedKeys.some(({ key }) => key === previous.key);
  const verdict = isOut ? ('revoked' as const) : ('held' as const);
  const section = { ...previous, ...outcome, verdict, decidedAtMs: nowMs };
  return draft(unbanned, record, { ...outcome, section });
};

/** The other key that is held gets in, in place of the one that the hub knows. */
const replaceKey: Verb = (question) => {
  const { record, identity, previous } = question;
  const isHeld = isAboutRequest(previous, identity) && previous.verdict === 'held';
  const isOther = knownOtherKey(identity, previous) !== undefined;
  if (!isHeld || !isOther || !names(question, identity.request.key)) return undefined;
  const outcome = says(question, 'PersonApproved', 'replaces the key of this cluster');
  return draft(approved, record, { ...outcome, section: approvalAfter(question, outcome) });
};

/** The agent shall take another key by itself: the one that is in stays until the agent has done so (ADR 10). */
const rotateKey: Verb = (question) => {
  const { record, previous, nowMs } = question;
  const key = previous.approvedKey;
  if (key === undefined || !names(question, key)) return undefined;
  const outcome = says(question, 'RotationRequested', 'wants the agent of this cluster to take a new key');
  return draft(rotationRequested, record, {
    ...outcome,
    section: { ...previous, rotationRequest: { key, atMs: nowMs } },
  });
};

/** Never ends what nobody deleted: it only shortens the wait of a cluster that leaves. */
const forceDelete: Verb = (question) => {
  const { record, previous, nowMs } = question;
  if (previous.verdict !== 'leaving' || previous.forced) return undefined;
  const { leaveUntilMs: _nobodyWaits, ...rest } = previous;
  const outcome = says(question, 'LeaveForced', 'ends this cluster without waiting for its agent');
  // Its own time, or the `revoked` of the leaving would be due once more.
  const section = { ...rest, ...outcome, forced: true, decidedAtMs: nowMs };
  return draft(leaving, record, { ...outcome, section });
};

const verbs: Readonly<Record<Exclude<Operation['verb'], 'Unban'>, Verb>> = {
  Revoke: revoke,
  Ban: ban,
  ReplaceKey: replaceKey,
  RotateKey: rotateKey,
  ForceDelete: forceDelete,
};

/** What follows from `spec.operation`, once per id; nothing where any objection holds. */
export function decideOperation(
  question: Omit<Asked, 'operation' | 'shown'> & { readonly object: ClusterObject },
): EventDraft | undefined {
  const { object, ...base } = question;
  const operation = readOperation(object);
  if (!operation) return undefined;
  const asked: Asked = { ...base, operation, shown: object.status?.observed };
  if (objections.some((objects) => objects(asked))) return undefined;
  const { identity } = asked;
  const decision =
    operation.verb === 'Unban' ? unban(asked) : identity && verbs[operation.verb]({ ...asked, identity });
  if (!decision) return undefined;
  const operations = [...(asked.previous.operations ?? []), operation.id].slice(-mostRemembered);
  return { ...decision, section: { ...(decision.section as Decision), operations } };
}

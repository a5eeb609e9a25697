import {
  banned,
  changed,
  type ClusterRecord,
  type Decision,
  denied,
  draft,
  type EventDraft,
  held,
  type Identity,
  isNewer,
  revoked,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';
import {
  accessWithdrawn,
  allKeysTaken,
  denialAfter,
  type Heartbeat,
  isAboutRequest,
  type SectionBase,
  sectionAfter,
  withAllRevoked,
} from '../decision/decision-section.ts';
import type { ClusterObject } from '../people/cluster-change.ts';
import { readPersonDecision } from '../people/person-decision.ts';
import { mostRemembered, readOperation } from '../people/cluster-operations.ts';

/** What Kubernetes shows of one cluster while the hub begins a new epoch. */
export interface RestoredProjection {
  readonly record: ClusterRecord;
  readonly request: StoredObject<ClusterRegistrationRequest> | undefined;
  readonly cluster: ClusterObject | undefined;
  /** Fingerprints of the keys that the servers' revocation list named when the hub was restored. */
  readonly outKeys?: ReadonlySet<string>;
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
}

/** What follows from it. */
export interface Review {
  readonly kind: 'taken back' | 'held' | 'noted';
  readonly draft: EventDraft;
}

const by = { service: 'approver' };
const restoredReason = 'RestoredFromProjection';
const restoredListedReason = 'RestoredFromRevocations';
/** As the person's own: by it a ban is known to whoever takes it back, and to the next restore. */
const bannedReason = 'PersonBanned';

/** The projection was made from an event that the backup does not have. */
function isAhead({ record: { head }, request, cluster }: RestoredProjection): boolean {
  return [request?.status?.observed, cluster?.status?.observed].some(
    (shown) => shown !== undefined && (head === undefined || isNewer(shown, head)),
  );
}

function acceptedOf(cluster: ClusterObject | undefined) {
  return cluster?.status?.conditions?.find(({ type }) => type === 'Accepted');
}

/** Its `spec.operation` may be a later one; the condition says whose word is in force. */
function isShownBanned(cluster: ClusterObject | undefined): boolean {
  const accepted = acceptedOf(cluster);
  const operation = cluster && readOperation(cluster);
  return accepted?.status === 'False' && (accepted.reason === bannedReason || operation?.verb === 'Ban');
}

/** A ban about a cluster that came after the backup: at most what a person laid down beforehand is known of it. */
function banUnknown({ record, cluster, heartbeat, nowMs }: RestoredProjection): Review | undefined {
  if (!isShownBanned(cluster) || !cluster || record.decision?.verdict === 'banned') return undefined;
  const message = 'Kubernetes showed this cluster as banned when the hub was restored';
  const { predefined: _claimed, ...beforehand } = record.decision ?? {
    clusterName: cluster.metadata.name,
    namespace: cluster.metadata.name,
    labels: {},
    access: 'None' as const,
    namespacePolicy: 'Delete' as const,
    unschedulable: false,
    taints: [],
    heartbeat,
    revokedKeys: [],
  };
  const outcome = { by, reason: bannedReason, message, verdict: 'banned' as const };
  const section: Decision = { ...beforehand, ...outcome, decidedAtMs: nowMs };
  return {
    kind: 'taken back',
    draft: draft(banned, record, { by, reason: bannedReason, message, section }),
  };
}

interface Known extends RestoredProjection {
  readonly identity: Identity;
  readonly base: SectionBase;
}

const took = (does: EventDraft): Review => ({ kind: 'taken back', draft: does });

/**
 * What the servers' list says of a cluster that the history has as let in, or as waiting. Of one that has left since, and of which
 * Kubernetes shows nothing, it is all there is.
 */
function takeListed(known: Known): Review | undefined {
  const { record, identity, outKeys, base } = known;
  const { decision: previous } = record;
  const isListed = (key: string) => outKeys?.has(keyFingerprint(key)) === true;
  const message = 'the servers refused the key of this cluster when the hub was restored';
  const outcome = { by, reason: restoredListedReason, message };
  if (previous?.approvedKey !== undefined)
    return isListed(previous.approvedKey) ? takeKey({ ...known, previous }, outcome) : undefined;
  if (!waitsForVerdict(previous) || !isListed(identity.request.key)) return undefined;
  return took(draft(denied, record, { ...outcome, section: denialAfter(base, outcome) }));
}

const waitsForVerdict = (previous: Decision | undefined) =>
  previous === undefined || previous.verdict === 'held' || previous.verdict === 'predefined';

/** The key that is in is out, and so is the one that the registrar knows. */
function takeKey(
  { record, identity, previous, nowMs }: Known & { readonly previous: Decision },
  outcome: Pick<Decision, 'by' | 'reason' | 'message'>,
): Review {
  const { approvedKey, ...rest } = previous;
  const revokedKeys = withAllRevoked(previous.revokedKeys, [approvedKey, identity.admittedKey], nowMs);
  const section: Decision = { ...rest, ...outcome, verdict: 'revoked', revokedKeys, decidedAtMs: nowMs };
  return took(draft(revoked, record, { ...outcome, section }));
}

/** What was taken from the cluster after the backup is taken from it again. Only that: nothing is given by a projection. */
function takeBack(known: Known): Review | undefined {
  const { record, cluster, base } = known;
  const { decision: previous } = record;
  const approvedKey = previous?.approvedKey;
  if (isShownBanned(cluster) && previous?.verdict !== 'banned') {
    const message = 'Kubernetes showed this cluster as banned when the hub was restored';
    const outcome = { by, reason: bannedReason, message };
    const section = allKeysTaken(base, { ...outcome, verdict: 'banned' });
    return took(draft(banned, record, { ...outcome, section }));
  }
  const shownKey = cluster?.status?.keyFingerprint;
  const isShownOut = acceptedOf(cluster)?.status === 'False';
  const isShownReplaced =
    approvedKey !== undefined && shownKey !== undefined && shownKey !== keyFingerprint(approvedKey);
  if (previous && approvedKey !== undefined && (isShownOut || isShownReplaced)) {
    const message = isShownOut
      ? 'Kubernetes showed the access of this cluster as taken back when the hub was restored'
      : 'Kubernetes showed another key of this cluster when the hub was restored';
    return takeKey({ ...known, previous }, { by, reason: restoredReason, message });
  }
  const message = shownAgainst(known);
  if (message === undefined || !waitsForVerdict(previous) || approvedKey !== undefined) return undefined;
  const outcome = { by, reason: restoredReason, message };
  return took(draft(denied, record, { ...outcome, section: denialAfter(base, outcome) }));
}

/** What Kubernetes shows that speaks against a request which the backup has as open: no policy may let it in then. */
function shownAgainst({ request, cluster, identity }: Known): string | undefined {
  const asks = keyFingerprint(identity.request.key);
  const when = 'when the hub was restored';
  if (request?.status?.result === 'Denied' && request.spec.keyFingerprint === asks)
    return `Kubernetes showed this request as denied ${when}`;
  const shownKey = cluster?.status?.keyFingerprint;
  if (shownKey === undefined) return undefined;
  if (shownKey !== asks) return `Kubernetes showed another key of this cluster ${when}`;
  return acceptedOf(cluster)?.status === 'False'
    ? `Kubernetes showed the access of this cluster as taken back ${when}`
    : undefined;
}

/**
 * A decision or an operation that stands there and would let somebody in: whether it was acted on, and taken back since, stands in
 * events that are lost. It is noted as acted on, so that it never counts; a person says it again, in other words.
 */
function holdOperations(known: Known): Review | undefined {
  const { record, request, cluster, identity, base } = known;
  const { decision: previous } = record;
  const reason = 'RestoredDecision';
  const operation = request && readPersonDecision(request);
  const isIn =
    previous?.approvedKey !== undefined && keyFingerprint(previous.approvedKey) === operation?.keyFingerprint;
  if (operation?.verdict === 'Approve' && !isIn && previous?.actedOn !== operation.digest) {
    const message = `${operation.by} approved before the hub was restored; approve again, with a reason`;
    const isOpen =
      previous === undefined || (previous.verdict === 'held' && isAboutRequest(previous, identity));
    const outcome = { by, reason, message };
    const section = isOpen ? sectionAfter(base, { ...outcome, verdict: 'held' }) : previous;
    const does = draft(isOpen ? held : changed, record, {
      ...outcome,
      section: { ...section, actedOn: operation.digest },
    });
    return { kind: 'held', draft: does };
  }
  const spoken = cluster && readOperation(cluster);
  const gives = spoken?.verb === 'Unban' || spoken?.verb === 'ReplaceKey';
  if (!spoken || !gives || !previous || previous.operations?.includes(spoken.id)) return undefined;
  const message = `${spoken.by} wanted ${spoken.verb} before the hub was restored; it takes a new operation`;
  const section = {
    ...previous,
    operations: [...(previous.operations ?? []), spoken.id].slice(-mostRemembered),
  };
  return { kind: 'held', draft: draft(changed, record, { by, reason, message, section }) };
}

/**
 * Whether the key that `hubAcceptsClient: false` had taken before the backup went another way after it: given back, and then replaced,
 * revoked, or banned. Its `true` still stands there and counts, but not for that key.
 */
function isWithdrawnGone(projection: RestoredProjection): boolean {
  const { record, cluster } = projection;
  const { withdrawnKey, operations } = record.decision ?? {};
  if (withdrawnKey === undefined || !cluster || !isAhead(projection)) return false;
  const { keyFingerprint: shownKey } = cluster.status ?? {};
  if (shownKey !== undefined && shownKey !== keyFingerprint(withdrawnKey)) return true;
  const operation = readOperation(cluster);
  const takes = operation?.verb === 'Revoke' || operation?.verb === 'Ban';
  if (takes && operations?.includes(operation.id) !== true) return true;
  const accepted = acceptedOf(cluster);
  return accepted?.status === 'False' && accepted.reason !== accessWithdrawn;
}

/** As if nobody could give that key back by `hubAcceptsClient`. */
function withoutWithdrawn(record: ClusterRecord): ClusterRecord {
  if (!record.decision) return record;
  const { withdrawnKey: _gone, ...decision } = record.decision;
  return { ...record, decision };
}

/** A word in the new epoch, so that the projection can be made from what is known now: the API server takes no older one. */
function noteAhead(projection: RestoredProjection): Review | undefined {
  const { record } = projection;
  if (!record.decision || !isAhead(projection)) return undefined;
  const message = 'Kubernetes showed later events than the backup has; what is known is shown again';
  const what = { by, reason: 'RestoredAsKnown', message, section: record.decision };
  return { kind: 'noted', draft: draft(changed, record, what) };
}

/**
 * What follows from what Kubernetes shows of a cluster when its hub was restored, and from the servers' revocation list (ADR 15):
 * what they show as taken is taken, what Kubernetes would give is held, and everything else is as the backup says.
 */
export function reviewProjection(shown: RestoredProjection): Review | undefined {
  const projection = isWithdrawnGone(shown) ? { ...shown, record: withoutWithdrawn(shown.record) } : shown;
  const { record, heartbeat, nowMs } = projection;
  const { identity, decision: previous } = record;
  if (!identity || identity.state === 'left' || previous?.verdict === 'leaving')
    return isAhead(projection) && !identity ? banUnknown(projection) : noteAhead(projection);
  const known = { ...projection, identity, base: { identity, previous, heartbeat, nowMs } };
  const taken = (isAhead(projection) ? takeBack(known) : undefined) ?? takeListed(known);
  return taken ?? holdOperations(known) ?? noteAhead(projection);
}

/**
 * What people had said before the restore and must not count when it is read again: each approval, whoever is in meanwhile, and
 * each operation but one that takes what is still in. That one counts once more: whether it was acted on, and access given again
 * since, nobody knows. One that took what is out by now is spent too, or it would take what a person gives in the new epoch.
 * @param review - what followed from the same projection
 */
export function spentWords(projection: RestoredProjection, review: Review | undefined): string[] {
  const { record, request, cluster } = projection;
  const { decision: previous } = record;
  const decided = request && readPersonDecision(request);
  const isApproval = decided?.verdict === 'Approve' && previous?.actedOn !== decided.digest;
  const operation = cluster && readOperation(cluster);
  const inNow = review?.kind === 'taken back' ? undefined : previous?.approvedKey;
  const takes =
    (operation?.verb === 'Revoke' &&
      inNow !== undefined &&
      operation.keyFingerprint === keyFingerprint(inNow)) ||
    (operation?.verb === 'Ban' && previous?.verdict !== 'banned');
  const isSpent = operation && !takes && previous?.operations?.includes(operation.id) !== true;
  return [...(isApproval ? [decided.digest] : []), ...(isSpent ? [operation.word] : [])];
}

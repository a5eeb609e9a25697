import { createHash } from 'node:crypto';
import {
  approved,
  changed,
  type ClusterRecord,
  type Decision,
  denied,
  draft,
  type EventDraft,
  type Identity,
  isNewer,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';
import { approvalAfter, denialAfter, type Heartbeat, isAboutRequest } from '../decision/decision-section.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';

/** `spec.decision` of a ClusterRegistrationRequest, with what makes it countable. */
export interface PersonDecision {
  readonly verdict: 'Approve' | 'Deny';
  readonly keyFingerprint: string;
  readonly by: string;
  readonly reason: string | undefined;
  /** Of the decision and the object it stands in: the same words in a later object are another decision. */
  readonly digest: string;
  /** The event that the object showed when the decision stood in it. */
  readonly shown: { readonly epoch: number; readonly sequence: number } | undefined;
}

/**
 * Reads what a person decided.
 * @returns undefined where nobody decided, or where the key or the name is missing: the admission policies let neither through
 */
export function readPersonDecision({
  metadata,
  spec,
  status,
}: StoredObject<ClusterRegistrationRequest>): PersonDecision | undefined {
  const { decision } = spec;
  if (!decision?.keyFingerprint || !decision.by) return undefined;
  const { verdict, by, reason } = decision;
  const words = JSON.stringify([metadata.uid, verdict, decision.keyFingerprint, by, reason ?? '']);
  const digest = `sha256:${createHash('sha256').update(words).digest('hex')}`;
  return { verdict, keyFingerprint: decision.keyFingerprint, by, reason, digest, shown: status?.observed };
}

export interface PersonDecisionContext {
  readonly record: ClusterRecord;
  readonly decision: PersonDecision;
  /** Digests of decisions that stood there before the hub was restored, and count no more. */
  readonly spent?: ReadonlySet<string> | undefined;
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
}

interface Question {
  readonly identity: Identity;
  readonly previous: Decision | undefined;
  readonly decision: PersonDecision;
  readonly spent: ReadonlySet<string> | undefined;
  /** The approver's newest event. */
  readonly last: StoredEvent | undefined;
}
/** Why a decision changes nothing, each by its own rule. */
type Objection = (question: Question) => boolean;

/** The record says which key asks now; the projection may be older, or restored from a backup. */
const isAboutAnotherKey: Objection = ({ identity, decision }) =>
  decision.keyFingerprint !== keyFingerprint(identity.request.key);
const wasActedOn: Objection = ({ previous, decision }) => previous?.actedOn === decision.digest;
const isOfFormerEpoch: Objection = ({ spent, decision }) => spent?.has(decision.digest) ?? false;
/**
 * Only the newest decision is known to have been acted on. A projection from before it (a late watch) may still show one that a
 * person has taken back since; once the projection shows our last word, whatever stands in it came later.
 */
const isFromBefore: Objection = ({ previous, decision, last }) =>
  previous?.actedOn !== undefined && last !== undefined && (!decision.shown || isNewer(last, decision.shown));
const hasNoRequest: Objection = ({ identity }) => identity.state === 'left' || identity.state === 'refused';
/** Whoever leaves asks again before anybody can let it in again. */
const isLeaving: Objection = ({ identity, previous }) =>
  previous?.verdict === 'leaving' && isAboutRequest(previous, identity);
const isBanned: Objection = ({ previous }) => previous?.verdict === 'banned';

/** The decision that says the same already. */
function saysSoAlready(
  { identity, previous }: Pick<Question, 'identity' | 'previous'>,
  decision: PersonDecision,
): Decision | undefined {
  const verdict = decision.verdict === 'Approve' ? 'approved' : 'denied';
  return isAboutRequest(previous, identity) && previous.verdict === verdict ? previous : undefined;
}

export const objections: readonly Objection[] = [
  isAboutAnotherKey,
  wasActedOn,
  isOfFormerEpoch,
  isFromBefore,
  hasNoRequest,
  isLeaving,
  isBanned,
];

/** What follows from a person's decision; nothing where any objection holds. A `revoked` that is still due comes first, and alone. */
export function decidePersonDecision(context: PersonDecisionContext): EventDraft[] {
  const { record, decision, spent, heartbeat, nowMs } = context;
  const { identity, decision: previous } = record;
  const due = decideRevocation(record);
  if (due.length > 0) return due;
  if (
    !identity ||
    objections.some((objects) =>
      objects({ identity, previous, decision, spent, last: record.lastOf.approver }),
    )
  )
    return [];
  const by = { person: decision.by };
  const same = saysSoAlready({ identity, previous }, decision);
  if (same) {
    // Noted, because it stands in the object for good: unnoted it would undo, one day, what came after it.
    const message = `${decision.by} decides what is so already`;
    const section = { ...same, actedOn: decision.digest };
    return [draft(changed, record, { by, reason: 'DecisionNoted', message, section })];
  }
  const base = { identity, previous, heartbeat, nowMs };
  const says = decision.reason ? `: ${decision.reason}` : '';
  if (decision.verdict === 'Approve') {
    const outcome = { by, reason: 'PersonApproved', message: `${decision.by} approves${says}` };
    return [
      draft(approved, record, {
        ...outcome,
        section: { ...approvalAfter(base, outcome), actedOn: decision.digest },
      }),
    ];
  }
  const outcome = { by, reason: 'PersonDenied', message: `${decision.by} denies${says}` };
  return [
    draft(denied, record, {
      ...outcome,
      section: { ...denialAfter(base, outcome), actedOn: decision.digest },
    }),
  ];
}

import {
  type AggregateRecord,
  approved,
  type ClusterRecord,
  counted,
  type Decision,
  denied,
  draft,
  type EventDraft,
  held,
  type Identity,
} from '@rollcall/shared/events';
import {
  approvalAfter,
  denialAfter,
  type Heartbeat,
  isAboutRequest,
  type SectionBase,
  sectionAfter,
} from '../decision/decision-section.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';
import { isVouchedFor, rotationAfter } from '../decision/key-rotated.ts';
import { judge, type Judgement, type PolicyOutcome } from './judgement.ts';

export interface JudgementContext {
  readonly record: ClusterRecord;
  readonly outcome: PolicyOutcome;
  /** The hub's settings for clusters that nobody gave others. */
  readonly heartbeat: Heartbeat;
  /** Hub time. */
  readonly nowMs: number;
  /** Where policies counted the fleet: what an approval is appended to as well, so that it is the only one on these counts. */
  readonly fleet?: { readonly record: AggregateRecord };
}

const definitions = { approved, held, denied } as const;

/** What token and rule give. Of a predefined cluster the person's own words count more; a rule can only add to them. */
function givenTo(
  section: Decision,
  request: Identity['request'],
  gives: NonNullable<Judgement['gives']>,
): Pick<Decision, 'labels' | 'access' | 'clusterSet'> {
  const own = section.predefined ? section : undefined;
  const clusterSet = own?.clusterSet ?? request.clusterSet ?? gives.clusterSet;
  return {
    labels: { ...request.labels, ...gives.labels, ...own?.labels },
    access: own?.access === 'Namespace' ? own.access : (gives.access ?? 'None'),
    ...(clusterSet === undefined ? {} : { clusterSet }),
  };
}

/**
 * Not the message, which may have the time in it; but of another key it says what a person decides by, and of another generation of the
 * policy what its rule says now.
 */
function isSameCause(before: Decision, now: Pick<Decision, 'reason' | 'by' | 'message'>): boolean {
  if (before.reason !== now.reason) return false;
  if (now.reason === 'KeyChanged') return before.message === now.message;
  const isSameRule = before.by.policy === now.by.policy && before.by.rule === now.by.rule;
  return isSameRule && (before.by.generation === now.by.generation || before.message === now.message);
}

/** The whole decision that a judgement comes to, with what the cluster is given. */
export function decisionOf(base: SectionBase, { gives, ...what }: Judgement): Decision {
  const { identity, previous } = base;
  const isRotation = what.verdict === 'approved' && isVouchedFor(identity, previous);
  const approval = isRotation ? rotationAfter : approvalAfter;
  const after = { approved: approval, denied: denialAfter, held: sectionAfter }[what.verdict];
  const section = after(base, what);
  return gives ? { ...section, ...givenTo(section, identity.request, gives) } : section;
}

/**
 * Judges the request that stands in the record; a request that is held already is held again only for another reason, by
 * another rule, or where that was written anew and says something else.
 * A `revoked` that is still due comes first, and alone: it is found by its decision being the newest one.
 */
export function decideRequest(context: JudgementContext): EventDraft[] {
  const { record, outcome, heartbeat, nowMs } = context;
  const { identity, decision: previous } = record;
  const due = decideRevocation(record);
  if (due.length > 0) return due;
  const judgement = identity && judge({ identity, previous, outcome });
  if (!judgement) return [];
  const { gives: _gives, ...what } = judgement;
  const isHeldAlready = isAboutRequest(previous, identity) && previous.verdict === 'held';
  if (what.verdict === 'held' && isHeldAlready && isSameCause(previous, what)) return [];
  const section = decisionOf({ identity, previous, heartbeat, nowMs }, judgement);
  const decision = draft(definitions[what.verdict], record, { ...what, section });
  if (!context.fleet || what.verdict !== 'approved' || what.by.policy === undefined) return [decision];
  const inOneBatch = draft(counted, context.fleet.record, {
    ...what,
    section: { clusterId: identity.clusterId, requestId: identity.request.id },
  });
  return [decision, inOneBatch];
}

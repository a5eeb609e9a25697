import {
  type AggregateRecord,
  approved,
  type Cause,
  type ClusterRecord,
  counted,
  denied,
  draft,
  type EventDraft,
  held,
  type Identity,
  type Decision,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import {
  approvalAfter,
  denialAfter,
  type Heartbeat,
  isAboutRequest,
  type SectionBase,
  sectionAfter,
} from '../decision/decision-section.ts';
import { isVouchedFor, rotationAfter, rotationApproved } from '../decision/key-rotated.ts';
import type { PolicyRule } from '../policy/policy-problem.ts';
import { decideRevocation } from '../decision/follow-ups.ts';

/** A rule whose expression gave true, in the order of policy names and of the rules within them. */
export interface RuleMatch {
  readonly policy: string;
  readonly generation: number;
  readonly rule: PolicyRule;
  /** It speaks about members that come back with another key: no other rule can let one in. */
  readonly readsSameMember?: boolean;
}
export interface RuleFailure {
  readonly policy: string;
  readonly generation: number;
  readonly rule: string;
  readonly message: string;
}
/** What the policies say of a request; gathered before, because evaluating needs a worker and a clock. */
export type PolicyOutcome =
  | {
      readonly kind: 'evaluated';
      readonly matches: readonly RuleMatch[];
      readonly failures: readonly RuleFailure[];
    }
  | { readonly kind: 'timeout'; readonly deadlineMs: number };

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

interface Question {
  readonly identity: Identity;
  readonly previous: Decision | undefined;
  readonly outcome: PolicyOutcome;
}

export interface Judgement {
  readonly verdict: 'approved' | 'held' | 'denied';
  readonly by: Cause;
  readonly reason: string;
  readonly message: string;
  /** What the rule that approves gives the cluster. */
  readonly gives?: Pick<PolicyRule, 'labels' | 'clusterSet' | 'access'>;
}
/** `settled`: there is nothing to decide. */
type Opinion = Judgement | 'settled' | undefined;
type Rule = (question: Question) => Opinion;

const byRollcall: Cause = { service: 'approver' };

/** Tells a person what to do about a held request, in one line that can be pasted. */
function askPerson({ identity, previous }: Question): string {
  // An approval alone would be refused: it does not say that the key is replaced, or which one.
  if (knownOtherKey(identity, previous) !== undefined) return askToReplace(identity);
  const patch = '{"spec":{"decision":{"verdict":"Approve"}}}';
  return `a person with create on managedclusters/accept decides: kubectl patch clusterregistrationrequests.rollcall.dev ${identity.clusterId} --type=merge -p '${patch}'`;
}

function askToReplace({ clusterName, request }: Identity): string {
  return `a person with create on managedclusters/replacekey decides: rollcall approve ${clusterName} --replace-key ${request.keyFingerprint}`;
}

function hold(question: Question, reason: string, why: string, by: Cause = byRollcall): Judgement {
  return { verdict: 'held', by, reason, message: `${why}; ${askPerson(question)}` };
}

const requestIsSettled: Rule = ({ identity, previous }) => {
  if (identity.state === 'left' || identity.state === 'refused') return 'settled';
  if (previous?.verdict === 'banned') return 'settled';
  return isAboutRequest(previous, identity) && previous.verdict !== 'held' ? 'settled' : undefined;
};

/** Registering again is normal: the same key gets the same answer (principle 11). */
const sameKeyAgain: Rule = ({ identity, previous }) => {
  const { key } = identity.request;
  if (previous?.key === key && (previous.verdict === 'approved' || previous.verdict === 'denied')) {
    const { verdict, by, reason, message } = previous;
    return { verdict, by, reason, message };
  }
  if (previous?.approvedKey !== key) return undefined;
  // The owner asks while another key's request was the last one that was judged.
  return {
    verdict: 'approved',
    by: byRollcall,
    reason: 'KeyKnown',
    message: 'this key of the cluster is approved already',
  };
};

/** No policy can let in what was taken back. */
const keyWasTakenBack: Rule = (question) => {
  const { identity, previous } = question;
  const isTaken = previous?.revokedKeys.some(({ key }) => key === identity.request.key);
  return isTaken ? hold(question, 'KeyRevoked', 'this key of the cluster was taken back before') : undefined;
};

/** The key that the hub knows a cluster by, if another one asks now. */
export function knownOtherKey(identity: Identity, previous: Decision | undefined): string | undefined {
  const known = previous?.approvedKey ?? identity.admittedKey;
  return known !== undefined && known !== identity.request.key ? known : undefined;
}

/**
 * Whether a policy may let this key take the place of the one that is in: the member proved itself by the pinned issuer, and
 * a rule says so in as many words (ADR 9). A key that was taken back is replaced by people only.
 */
function mayReplaceKey({ identity, previous, outcome }: Question): boolean {
  const isIn = previous?.approvedKey !== undefined && previous.approvedKey === identity.admittedKey;
  return (
    isIn &&
    identity.request.member?.sameMember === true &&
    outcome.kind === 'evaluated' &&
    outcome.matches.some(({ rule, readsSameMember }) => readsSameMember && rule.effect === 'Approve')
  );
}

function proofInWords({ request }: Identity): string {
  const { member } = request;
  if (member?.sameMember) return 'it proved that it is of the same member';
  return member ? `its proof of member does not hold: ${member.problem}` : 'it showed no proof of member';
}

/** No policy is asked: the key that was let in speaks for itself. */
const keyRotated: Rule = ({ identity, previous }) =>
  isVouchedFor(identity, previous) ? rotationApproved(identity) : undefined;

const keyChanged: Rule = (question) => {
  const { identity, previous } = question;
  const known = knownOtherKey(identity, previous);
  if (known === undefined || mayReplaceKey(question)) return undefined;
  const { keyFingerprint: asking } = identity.request;
  const keys = `the cluster is known under another key (${keyFingerprint(known)}) than the one that asks (${asking})`;
  return {
    verdict: 'held',
    by: byRollcall,
    reason: 'KeyChanged',
    message: `${keys}; ${proofInWords(identity)}; ${askToReplace(identity)}`,
  };
};

/** No policy is asked: what was decided about it since the backup, people alone may know. */
const registeredAfterBackup: Rule = (question) => {
  const { memberBeforeRestore } = question.identity.request;
  if (!memberBeforeRestore) return undefined;
  const issuedAt = new Date(memberBeforeRestore.issuedAtMs).toISOString();
  const why = `the hub let this key in after the backup that it was restored from, and gave it credentials at ${issuedAt}; whether they were taken back since, no event says`;
  return hold(question, 'RegisteredAfterBackup', why);
};

const policiesTookTooLong: Rule = (question) =>
  question.outcome.kind === 'timeout'
    ? hold(
        question,
        'PolicyTimeout',
        `the approval policies took longer than ${question.outcome.deadlineMs} ms`,
      )
    : undefined;

const policyFailed: Rule = (question) => {
  if (question.outcome.kind !== 'evaluated') return undefined;
  const [first] = question.outcome.failures;
  if (!first) return undefined;
  const { policy, generation, rule, message } = first;
  const ofPolicy = policy === '' ? 'the approval policies failed:' : `policy "${policy}"`;
  const what = rule === '' ? ofPolicy : `rule "${rule}" of policy "${policy}" failed:`;
  return hold(question, 'PolicyError', `${what} ${message}`, {
    policy,
    generation,
    rule,
  });
};

const effects = {
  Deny: { verdict: 'denied', reason: 'PolicyDenied', says: 'denies' },
  Hold: { verdict: 'held', reason: 'PolicyHeld', says: 'holds' },
  Approve: { verdict: 'approved', reason: 'PolicyApproved', says: 'approves' },
} as const;

/** Of several rules with one effect, the first counts: by policy name, then in the order of the policy. */
function ruleSays(effect: keyof typeof effects): Rule {
  return (question) => {
    if (question.outcome.kind !== 'evaluated') return undefined;
    const isReplacing = knownOtherKey(question.identity, question.previous) !== undefined;
    const match = question.outcome.matches.find(
      ({ rule, readsSameMember }) =>
        rule.effect === effect && (effect !== 'Approve' || !isReplacing || readsSameMember),
    );
    if (!match) return undefined;
    const { policy, generation, rule } = match;
    const { verdict, reason, says } = effects[effect];
    const why = `rule "${rule.name}" of policy "${policy}" ${says}${rule.reason ? `: ${rule.reason}` : ''}`;
    const by = { policy, generation, rule: rule.name };
    if (verdict === 'held') return hold(question, reason, why, by);
    return {
      verdict,
      by,
      reason,
      message: why,
      ...(verdict === 'approved' && !isReplacing ? { gives: rule } : {}),
    };
  };
}

/** The first rule with an opinion wins, so the order is the policy: what is settled, then doubt, then refusal, then approval. */
export const rules: readonly Rule[] = [
  requestIsSettled,
  sameKeyAgain,
  keyWasTakenBack,
  keyRotated,
  keyChanged,
  registeredAfterBackup,
  policiesTookTooLong,
  policyFailed,
  ruleSays('Deny'),
  ruleSays('Hold'),
  ruleSays('Approve'),
];

/** @returns always a judgement of an open request: what no rule names is held for a person; undefined when it is settled */
export function judge(question: Question): Judgement | undefined {
  for (const rule of rules) {
    const opinion = rule(question);
    if (opinion) return opinion === 'settled' ? undefined : opinion;
  }
  return hold(question, 'NoRuleMatched', 'no approval policy names this cluster');
}

/** Whether there is a request that policies may still say something about; before they are asked. */
export function isOpen(record: ClusterRecord): boolean {
  const { identity, decision } = record;
  return (
    identity !== undefined &&
    requestIsSettled({ identity, previous: decision, outcome: noPolicies }) === undefined
  );
}
const noPolicies: PolicyOutcome = { kind: 'evaluated', matches: [], failures: [] };

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

/** Not the message, which may have the time in it; but of another key it says what a person decides by. */
function isSameCause(before: Decision, now: Pick<Decision, 'reason' | 'by' | 'message'>): boolean {
  if (before.reason !== now.reason) return false;
  if (now.reason === 'KeyChanged') return before.message === now.message;
  return before.by.policy === now.by.policy && before.by.rule === now.by.rule;
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
 * Judges the request that stands in the record; a request that is held already is held again only for another reason, or by
 * another rule.
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

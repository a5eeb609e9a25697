import {
  type Cause,
  type ClusterRecord,
  type Decision,
  type Identity,
  isPredefinedUnbound,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { isAboutRequest } from '../decision/decision-section.ts';
import { isVouchedFor, rotationApproved } from '../decision/key-rotated.ts';
import type { PolicyRule } from '../policy/policy-problem.ts';

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
type Step = (question: Question) => Opinion;

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

const requestIsSettled: Step = ({ identity, previous }) => {
  if (identity.state === 'left' || identity.state === 'refused') return 'settled';
  if (previous?.verdict === 'banned') return 'settled';
  return isAboutRequest(previous, identity) && previous.verdict !== 'held' ? 'settled' : undefined;
};

/** Registering again is normal: the same key gets the same answer (principle 11). */
const sameKeyAgain: Step = ({ identity, previous }) => {
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
const keyWasTakenBack: Step = (question) => {
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
const keyRotated: Step = ({ identity, previous }) =>
  isVouchedFor(identity, previous) ? rotationApproved(identity) : undefined;

const keyChanged: Step = (question) => {
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
const registeredAfterBackup: Step = (question) => {
  const { memberBeforeRestore } = question.identity.request;
  if (!memberBeforeRestore) return undefined;
  const issuedAt = new Date(memberBeforeRestore.issuedAtMs).toISOString();
  const why = `the hub let this key in after the backup that it was restored from, and gave it credentials at ${issuedAt}; whether they were taken back since, no event says`;
  return hold(question, 'RegisteredAfterBackup', why);
};

const policiesTookTooLong: Step = (question) =>
  question.outcome.kind === 'timeout'
    ? hold(
        question,
        'PolicyTimeout',
        `the approval policies took longer than ${question.outcome.deadlineMs} ms`,
      )
    : undefined;

const policyFailed: Step = (question) => {
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

/**
 * The set that a predefined cluster is in, where neither its token nor the rule gives it. To let clusters join a set is a right of
 * its own, and whoever made a token for this cluster need not have it.
 */
function setNotGiven({ identity, previous }: Question, rule: PolicyRule): string | undefined {
  const set = isPredefinedUnbound(previous) ? previous.clusterSet : undefined;
  return set === identity.request.clusterSet || set === rule.clusterSet ? undefined : set;
}

/** Of several rules with one effect, the first counts: by policy name, then in the order of the policy. */
function ruleSays(effect: keyof typeof effects): Step {
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
    const set = effect === 'Approve' ? setNotGiven(question, rule) : undefined;
    if (set !== undefined)
      return hold(question, 'SetNotGiven', `${why}, but neither it nor the token gives set "${set}"`, by);
    return {
      verdict,
      by,
      reason,
      message: why,
      ...(verdict === 'approved' && !isReplacing ? { gives: rule } : {}),
    };
  };
}

/** The first step with an opinion wins, so the order matters: what is settled, then doubt, then refusal, then approval. */
const steps: readonly Step[] = [
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
  for (const step of steps) {
    const opinion = step(question);
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

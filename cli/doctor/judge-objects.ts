import type {
  ApprovalPolicy,
  ClusterRegistrationRequest,
  ClusterRegistrationToken,
} from '@rollcall/shared/resources';
import { someNames } from '../terminal/some-names.ts';
import { counted, finding, type Finding, ok } from './finding.ts';

/** The approver takes milliseconds; so long it takes only one that does not work. */
const judgedWithinMs = 5 * 60_000;

type Request = Pick<ClusterRegistrationRequest, 'spec' | 'status'> & {
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string };
};

const nameOf = ({ spec, metadata }: Request) => spec?.clusterName ?? metadata.name;

/** Requests that wait for a person, that failed, and that nobody judges. */
export function judgeRequests(all: readonly Request[], nowMs: number): Finding[] {
  const held = all.filter(({ status }) => status?.result === 'Held').map(nameOf);
  const failed = all.filter(({ status }) => status?.result === 'Failed');
  const forgotten = all.filter(
    ({ status, metadata }) =>
      (status?.result ?? 'Pending') === 'Pending' &&
      nowMs - Date.parse(metadata.creationTimestamp ?? '') > judgedWithinMs,
  );
  return [
    held.length === 0
      ? ok('requests', 'none is held')
      : finding(
          'requests',
          `${held.length} held for a person: ${someNames(held)}`,
          `\`rollcall policy explain ${held[0]}\` says why; then \`rollcall approve ${held[0]}\` or \`rollcall deny ${held[0]}\`.`,
        ),
    ...(failed.length === 0
      ? []
      : [
          finding(
            'failed requests',
            `${failed.length} failed: ${someNames(failed.map((request) => `${nameOf(request)} (${request.status?.reason ?? 'unknown'})`))}`,
            '`rollcall describe request NAME` says what is in the way, and what to do.',
          ),
        ]),
    ...(forgotten.length === 0
      ? []
      : [
          finding(
            'pending requests',
            `${forgotten.length} not judged after ${judgedWithinMs / 60_000} minutes: ${someNames(forgotten.map(nameOf))}`,
            '`rollcall status` says whether the approver works; its log says why it does not judge.',
          ),
        ]),
  ];
}

type Conditions = NonNullable<ApprovalPolicy['status']>['conditions'];
const conditionIn = (conditions: Conditions, wanted: string) =>
  conditions?.find(({ type }) => type === wanted);

type Policy = Pick<ApprovalPolicy, 'status'> & { readonly metadata: { readonly name: string } };

/** Policies that do not count as they are written, and those that most likely say what nobody means. */
export function judgePolicies(all: readonly Policy[]): Finding[] {
  const having = (type: string, status: string) =>
    all.flatMap((policy) => {
      const condition = conditionIn(policy.status?.conditions, type);
      return condition?.status === status ? [`${policy.metadata.name} (${condition.reason})`] : [];
    });
  const [broken, warned] = [having('Ready', 'False'), having('Warning', 'True')];
  return [
    broken.length === 0
      ? ok('policies', `${all.length}, none with a mistake`)
      : finding(
          'policies',
          `${broken.length} with a mistake, not in force as written: ${someNames(broken)}`,
          '`rollcall get policies NAME -o yaml` has rule, line and column in `status.message`; correct it and apply it again.',
        ),
    ...(warned.length === 0
      ? []
      : [
          finding(
            'policy warnings',
            `${warned.length} with a warning: ${someNames(warned)}`,
            '`rollcall get policies NAME -o yaml` says in condition Warning what is most likely not meant.',
          ),
        ]),
  ];
}

type Token = Pick<ClusterRegistrationToken, 'status'> & {
  readonly spec?: { readonly uses?: number | 'unlimited' };
  readonly metadata: { readonly name: string; readonly namespace?: string };
};

/** How the life of a token ends when all goes well. */
const ordinaryEnds = new Set(['Expired', 'UsedUp', 'Withdrawn']);

/** A restore says of each that it is of an older epoch, also of one that had been used as often as it may. */
const isUsedUp = ({ spec, status }: Token): boolean =>
  typeof spec?.uses === 'number' && (status?.used ?? 0) >= spec.uses;

/** Tokens that people take for good, and with which nobody can ask. */
export function judgeTokens(all: readonly Token[]): Finding {
  const refused = all.flatMap((token) => {
    const { metadata, status } = token;
    const ready = conditionIn(status?.conditions, 'Ready');
    if (ready?.status !== 'False' || ordinaryEnds.has(ready.reason) || isUsedUp(token)) return [];
    return [`${metadata.namespace}/${metadata.name} (${ready.reason})`];
  });
  return refused.length === 0
    ? ok('tokens', `${counted(all.length, 'token')}, none refused`)
    : finding(
        'tokens',
        `${refused.length} with which nobody can ask: ${someNames(refused)}`,
        '`rollcall get tokens NAME -n NAMESPACE -o yaml` says in condition Ready why, and what to do.',
      );
}

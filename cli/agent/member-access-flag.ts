import { type MemberAccess, parseMemberAccess } from '@rollcall/agent';

export interface MemberAccessFlags {
  /** One rule each: `user:NAME`, `group:HUB=MEMBER`, `service-account:NAMESPACE/NAME`. */
  readonly memberAccess?: readonly string[];
}

const listIn = (text: string | undefined): string[] => (text ?? '').split(',').filter((one) => one !== '');

/** What the chart says in the Pod of an agent. */
function rulesIn(environment: Readonly<Record<string, string | undefined>>): string[] {
  const account = environment['ROLLCALL_MEMBER_SERVICE_ACCOUNT'];
  return [
    ...listIn(environment['ROLLCALL_MEMBER_USERS']).map((user) => `user:${user}`),
    ...listIn(environment['ROLLCALL_MEMBER_GROUPS']).map((pair) => `group:${pair}`),
    ...(account ? [`service-account:rollcall-agent/${account}`] : []),
  ];
}

/**
 * As whom people of the hub get into the member: flags over environment.
 * @returns undefined: nobody does
 * @throws RollcallError MEMBER_ACCESS_INVALID
 */
export function memberAccessOf(
  flags: MemberAccessFlags,
  environment: Readonly<Record<string, string | undefined>>,
): MemberAccess | undefined {
  return parseMemberAccess(flags.memberAccess ?? rulesIn(environment));
}

/** The same as values of the agent's chart. */
export function memberAccessValues({ memberAccess }: MemberAccessFlags): Record<string, unknown> {
  const access = memberAccess && parseMemberAccess(memberAccess);
  if (!access) return {};
  if (access.as === 'account') return { memberAccess: { serviceAccount: access.name } };
  const users = Object.fromEntries(access.users.map((user) => [user, true]));
  return { memberAccess: { users, groups: access.groups } };
}

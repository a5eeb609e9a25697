import { RollcallError } from '@rollcall/shared/errors';

/** As whom people of the hub act in the member: the owner of the member says so, and nobody else. */
export type MemberAccess =
  | {
      readonly as: 'people';
      /** Names on the hub; `alice` becomes `rollcall:alice` here. Nobody else gets in. */
      readonly users: readonly string[];
      /** Groups of the hub and what each is here. The others are none. */
      readonly groups: Readonly<Record<string, string>>;
    }
  | { readonly as: 'account'; readonly namespace: string; readonly name: string };

const ofKubernetes = /^system:/i;
const userPrefix = 'rollcall:';
const accountPattern = /^([a-z0-9][a-z0-9-]{0,62})\/([a-z0-9][a-z0-9.-]{0,252})$/;
/** What stands in a header and in a list with commas. */
const namePattern = /^[^\s,=\p{Cc}]{1,256}$/u;
/** Whoever were it could read its keys. */
const agentItself = 'rollcall-agent/rollcall-agent';

const wrong = (rule: string, why: string) =>
  new RollcallError('MEMBER_ACCESS_INVALID', `member access "${rule}": ${why}`);

/** @returns the name on the hub and the name here of `HUB=MEMBER` */
function groupOf(rule: string, text: string): [string, string] {
  const [hub = '', member = '', ...more] = text.split('=');
  if (more.length > 0 || !namePattern.test(hub) || !namePattern.test(member))
    throw wrong(rule, 'a group is group:NAME-ON-THE-HUB=NAME-IN-THE-MEMBER');
  if (ofKubernetes.test(member))
    throw wrong(rule, `"${member}" is a group of Kubernetes itself, which nobody of the hub can be given`);
  return [hub, member];
}

/**
 * What an owner says, one rule each: `user:NAME`, `group:HUB=MEMBER`, or alone `service-account:NAMESPACE/NAME`.
 * @returns undefined without any rule: nobody gets in
 * @throws RollcallError MEMBER_ACCESS_INVALID
 */
export function parseMemberAccess(rules: readonly string[]): MemberAccess | undefined {
  if (rules.length === 0) return undefined;
  const users: string[] = [];
  const groups: Record<string, string> = {};
  const accounts: { namespace: string; name: string }[] = [];
  for (const rule of rules) {
    const [, kind, text = ''] = /^([a-z-]+):(.*)$/.exec(rule) ?? [];
    switch (kind) {
      case 'user':
        if (!namePattern.test(text)) throw wrong(rule, 'this is no name of a user');
        users.push(text);
        break;
      case 'group': {
        const [hub, member] = groupOf(rule, text);
        if (Object.hasOwn(groups, hub)) throw wrong(rule, `group "${hub}" is named twice`);
        groups[hub] = member;
        break;
      }
      case 'service-account': {
        const [, namespace, name] = accountPattern.exec(text) ?? [];
        if (namespace === undefined || name === undefined)
          throw wrong(rule, 'an account is service-account:NAMESPACE/NAME');
        if (text === agentItself) throw wrong(rule, 'this is the account of the agent itself');
        accounts.push({ namespace, name });
        break;
      }
      default:
        throw wrong(rule, 'a rule is user:NAME, group:HUB=MEMBER or service-account:NAMESPACE/NAME');
    }
  }
  const [account] = accounts;
  if (account === undefined) {
    if (users.length === 0) throw wrong(rules.join(','), 'no user is named, so nobody would get in');
    return { as: 'people', users, groups };
  }
  if (accounts.length + users.length + Object.keys(groups).length > 1)
    throw wrong(rules.join(','), 'a service account is for all, and stands alone');
  return { as: 'account', ...account };
}

/** In one line, for the status of the cluster on the hub. */
export function memberAccessText(access: MemberAccess): string {
  if (access.as === 'account') return `ServiceAccount ${access.namespace}/${access.name}`;
  const groups = Object.values(access.groups);
  const inGroups = groups.length === 0 ? '' : `, groups ${groups.join(', ')}`;
  return `People as ${userPrefix}NAME: ${access.users.join(', ')}${inGroups}`;
}

/**
 * Who a person of the hub is in the member.
 * @returns the headers that say so, or why the owner does not let this person in
 */
export function identityHeaders(
  access: MemberAccess,
  { user, groups }: { readonly user: string; readonly groups: readonly string[] },
): { readonly headers: Readonly<Record<string, string | readonly string[]>> } | { readonly refused: string } {
  if (access.as === 'account') return { headers: {} };
  if (!access.users.includes(user))
    return { refused: `the owner of the member does not let "${user}" in; the rule user:${user} would` };
  const here = groups.flatMap((group) =>
    Object.hasOwn(access.groups, group) ? [access.groups[group] ?? ''] : [],
  );
  // Once more, although no rule can say it: this is the line that keeps the hub from being the owner.
  const own = [...new Set(here)].filter((group) => group !== '' && !ofKubernetes.test(group));
  return {
    headers: {
      'Impersonate-User': `${userPrefix}${user}`,
      ...(own.length === 0 ? {} : { 'Impersonate-Group': own }),
    },
  };
}

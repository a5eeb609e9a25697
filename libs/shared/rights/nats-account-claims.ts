import { RollcallError } from '@rollcall/shared/errors';
import type { Nkey } from '@rollcall/shared/trust';
import { type AccountLink, accountLinks, services, widestOf } from './account-exports.ts';
import { agentRoles, type AgentRole } from './nats-roles.ts';
import { type AccountName, type Role, type RoleAccount, roleAccounts } from './role.ts';

type Json = Readonly<Record<string, unknown>>;

/** One answer to one request, within five seconds (nanoseconds, as NATS counts). */
const oneAnswer = { resp: { max: 1, ttl: 5_000_000_000 } };

function permissions(role: Role): Json {
  return {
    pub: { allow: role.publish },
    sub: { allow: role.subscribe },
    ...(role.mayRespond ? oneAnswer : {}),
  };
}

/** The claims of a user whose rights stand in its own JWT: services and people. */
export function userClaims(role: Role, issuerAccount: string): Json {
  // An empty allow list would mean everything; a role that publishes nothing is given one subject that nobody hears.
  const publish = role.publish.length > 0 ? role.publish : ['rollcall.nobody'];
  return {
    type: 'user',
    issuer_account: issuerAccount,
    ...permissions({ ...role, publish }),
    subs: -1,
    data: -1,
    payload: -1,
    allowed_connection_types: ['STANDARD'],
  };
}

/** The claims of a user under a scoped key: its rights come from the key's template, so it must carry none (measured). */
export function scopedUserClaims(issuerAccount: string): Json {
  return { type: 'user', issuer_account: issuerAccount };
}

/** 64 KiB: facts of a large member fit, a flood of garbage does not. */
const agentPayloadBytes = 65_536;

function template(role: AgentRole): Json {
  return {
    ...permissions(agentRoles[role]),
    subs: 16,
    data: -1,
    payload: agentPayloadBytes,
    allowed_connection_types: ['STANDARD', 'WEBSOCKET'],
  };
}

const unlimited = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  conn: -1,
  leaf: -1,
  wildcards: true,
};
const jetStreamUnlimited = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };

/** Public keys of one generation: each role's credentials are signed by its own. */
export type AgentSigners = Readonly<Record<AgentRole, string>>;

/** Public keys of the accounts, and of what signs for them. */
export interface HubKeys {
  readonly sys: string;
  readonly auth: string;
  readonly agents: string;
  /** Has the streams. */
  readonly hub: string;
  /** One for each role beside agents and set-up. */
  readonly roles: Readonly<Record<RoleAccount, string>>;
  /** Signs the users of HUB and of the accounts of roles; kept offline once those are made. */
  readonly hubSigner: string;
  /** While it rolls over: the one before, whose users are as good. */
  readonly formerHubSigner?: string;
  readonly authSigner: string;
  readonly agentSigners: AgentSigners;
  /** While they roll over: the generation before or after, whose credentials are as good (docs/security/rotate.md). */
  readonly moreAgentSigners?: readonly AgentSigners[];
  /** How many parts heartbeats are spread over (docs/scale.md); absent: they are not. */
  readonly heartbeatPartitions?: number;
  readonly calloutUser: string;
  readonly calloutXkey: string;
}

/**
 * The public key of an account.
 * @throws RollcallError STATE_VERSION for keys that an earlier version made
 */
export function accountKey(keys: HubKeys, account: AccountName): string {
  const { sys: SYS, auth: AUTH, agents: AGENTS, hub: HUB, roles } = keys;
  const key: string | undefined = { SYS, AUTH, AGENTS, HUB, ...roles }[account];
  if (key !== undefined) return key;
  throw new RollcallError(
    'STATE_VERSION',
    `the hub has no account ${account}: it has not been started with this version yet`,
  );
}

/** How the servers and JetStream are asked is one export each; what our own services answer or say is given as it is taken. */
function exportsOf(account: AccountName, keys: HubKeys): Json[] {
  const given = accountLinks(keys).filter(({ from }) => from === account);
  const answered = services
    .filter(({ by }) => by === account)
    .map(({ subject, remote = (asked) => asked, hasManyReplies = false, answeredWithinMs }) => ({
      name: remote(subject),
      subject: remote(subject),
      type: 'service',
      response_type: hasManyReplies ? 'Stream' : 'Singleton',
      // Nanoseconds, as NATS counts.
      ...(answeredWithinMs === undefined ? {} : { response_threshold: answeredWithinMs * 1_000_000 }),
    }));
  const said = given.filter(({ kind }) => kind === 'stream');
  const subjects = widestOf(said.map(({ subject, remoteSubject = subject }) => remoteSubject));
  return [...answered, ...subjects.map((subject) => ({ name: subject, subject, type: 'stream' }))];
}

function importOf({ from, kind, subject, remoteSubject = subject }: AccountLink, keys: HubKeys): Json {
  return {
    name: subject,
    subject: remoteSubject,
    account: accountKey(keys, from),
    type: kind,
    local_subject: subject,
  };
}

/** What the account gives to others, and takes from them. */
function linksOf(account: AccountName, keys: HubKeys): Json {
  const exports = exportsOf(account, keys);
  const imports = accountLinks(keys)
    .filter(({ to }) => to === account)
    .map((link) => importOf(link, keys));
  return { ...(exports.length > 0 ? { exports } : {}), ...(imports.length > 0 ? { imports } : {}) };
}

/** No user is of it: whoever is could move the servers' own messages. */
function sysAccountClaims(keys: HubKeys): Json {
  return { type: 'account', limits: unlimited, ...linksOf('SYS', keys) };
}

function authAccountClaims(keys: HubKeys): Json {
  return {
    type: 'account',
    limits: unlimited,
    signing_keys: [keys.authSigner],
    authorization: {
      auth_users: [keys.calloutUser],
      allowed_accounts: [keys.agents],
      xkey: keys.calloutXkey,
    },
  };
}

/** The scopes under which one generation of keys signs: what a credential of each role may do. */
function agentScopes(signers: AgentSigners): Json[] {
  return (Object.keys(agentRoles) as AgentRole[]).map((role) => ({
    kind: 'user_scope',
    key: signers[role],
    role,
    template: template(role),
    description: agentRoles[role].description,
  }));
}

/** The server's own mapping: by the hash of the cluster id, so that each cluster stays in its part. */
function heartbeatMapping(partitions: number): Json {
  const subject = `rollcall.heartbeat-partition.{{partition(${partitions},1)}}.{{wildcard(1)}}`;
  return { 'rollcall.heartbeat.*': [{ subject, weight: 100 }] };
}

/**
 * 93 bytes each in the account's JWT, and one push carries them all. The servers refuse an account above 1 MiB ("token too
 * large"), whatever their `max_payload` is: that is at 11,190 keys with one generation of signing keys (measured). What more
 * there is to do is written in docs/security/revoke.md.
 */
export const mostRevocations = 11_000;

/**
 * Agents: no JetStream, and nothing of the hub but these exports.
 * @param revocations - user key → seconds since the epoch; credentials issued until then are refused
 */
export function agentsAccountClaims(keys: HubKeys, revocations: Readonly<Record<string, number>>): Json {
  return {
    type: 'account',
    limits: unlimited,
    signing_keys: [keys.agentSigners, ...(keys.moreAgentSigners ?? [])].flatMap(agentScopes),
    ...linksOf('AGENTS', keys),
    ...(keys.heartbeatPartitions === undefined
      ? {}
      : { mappings: heartbeatMapping(keys.heartbeatPartitions) }),
    ...(Object.keys(revocations).length > 0 ? { revocations } : {}),
  };
}

const hubSigners = ({ hubSigner, formerHubSigner }: HubKeys): string[] => [
  hubSigner,
  ...(formerHubSigner === undefined ? [] : [formerHubSigner]),
];

/** The streams, and what may be asked of them. Its one user is `setup`. */
function hubAccountClaims(keys: HubKeys): Json {
  return {
    type: 'account',
    limits: { ...unlimited, ...jetStreamUnlimited },
    signing_keys: hubSigners(keys),
    ...linksOf('HUB', keys),
  };
}

/** The accounts whose users the hub's signing key signs, and the others, with the claims of each. */
export function everyAccount(
  keys: HubKeys,
  revocations: Readonly<Record<string, number>> = {},
): { name: AccountName; key: string; claims: Json }[] {
  const claims: Record<AccountName, Json> = {
    SYS: sysAccountClaims(keys),
    AUTH: authAccountClaims(keys),
    AGENTS: agentsAccountClaims(keys, revocations),
    HUB: hubAccountClaims(keys),
    ...(Object.fromEntries(roleAccounts.map((name) => [name, roleAccountClaims(name, keys)])) as Record<
      RoleAccount,
      Json
    >),
  };
  const names = Object.keys(claims) as AccountName[];
  return names.map((name) => ({ name, key: accountKey(keys, name), claims: claims[name] }));
}

/** An account of one role: no JetStream, and nothing but what the table gives that role. */
function roleAccountClaims(account: RoleAccount, keys: HubKeys): Json {
  return { type: 'account', limits: unlimited, signing_keys: hubSigners(keys), ...linksOf(account, keys) };
}

/** The operator's claims: the root signs only this; accounts are signed by the listed keys. */
export function operatorClaims(sysAccount: string, signers: readonly Nkey[]): Json {
  return { type: 'operator', system_account: sysAccount, signing_keys: signers.map((key) => key.publicKey) };
}

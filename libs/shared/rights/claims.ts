import type { Nkey } from '@rollcall/shared/trust';
import { agentRoles, type AgentRole, type Role } from './roles.ts';

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
  readonly hub: string;
  /** Sign the users of HUB, SYS and AUTH; kept offline once those are made. */
  readonly hubSigner: string;
  /** While it rolls over: the one before, whose users are as good. */
  readonly formerHubSigner?: string;
  readonly sysSigner: string;
  readonly authSigner: string;
  readonly agentSigners: AgentSigners;
  /** While they roll over: the generation before or after, whose credentials are as good (docs/security/rotate.md). */
  readonly moreAgentSigners?: readonly AgentSigners[];
  /** How many parts beats are spread over (docs/scale.md); absent: they are not. */
  readonly beatPartitions?: number;
  readonly calloutUser: string;
  readonly calloutXkey: string;
}

export function sysAccountClaims(keys: HubKeys): Json {
  return {
    type: 'account',
    limits: unlimited,
    signing_keys: [keys.sysSigner],
    exports: [
      // Without account_token_position: with it, HUB could import only notices about itself (measured).
      { name: 'connection notices of agents', subject: `$SYS.ACCOUNT.${keys.agents}.*`, type: 'stream' },
      {
        name: 'how JetStream is set',
        subject: '$SYS.REQ.SERVER.PING.JSZ',
        type: 'service',
        response_type: 'Stream',
      },
      {
        name: 'whether servers can write',
        subject: '$SYS.REQ.SERVER.PING.HEALTHZ',
        type: 'service',
        response_type: 'Stream',
      },
    ],
  };
}

export function authAccountClaims(keys: HubKeys): Json {
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
export function agentScopes(signers: AgentSigners): Json[] {
  return (Object.keys(agentRoles) as AgentRole[]).map((role) => ({
    kind: 'user_scope',
    key: signers[role],
    role,
    template: template(role),
    description: agentRoles[role].description,
  }));
}

/** The server's own mapping: by the hash of the cluster id, so that each cluster stays in its part. */
function beatMapping(partitions: number): Json {
  const subject = `rollcall.beatp.{{partition(${partitions},1)}}.{{wildcard(1)}}`;
  return { 'rollcall.beat.*': [{ subject, weight: 100 }] };
}

/**
 * Agents: no JetStream, and nothing of the hub but these exports.
 * @param revocations - user key → seconds since the epoch; credentials issued until then are refused
 */
export function agentsAccountClaims(keys: HubKeys, revocations: Readonly<Record<string, number>>): Json {
  return {
    type: 'account',
    limits: unlimited,
    signing_keys: [keys.agentSigners, ...(keys.moreAgentSigners ?? [])].flatMap(agentScopes),
    exports: [
      { name: 'beats', subject: 'rollcall.beat.*', type: 'stream' },
      { name: 'beats by partition', subject: 'rollcall.beatp.*.*', type: 'stream' },
    ],
    imports: [
      {
        name: 'ask',
        subject: 'rollcall.ask.*.*',
        account: keys.hub,
        type: 'service',
        local_subject: 'rollcall.ask.*.*',
      },
      { name: 'answer', subject: 'rollcall.answer.*.>', account: keys.hub, type: 'stream' },
    ],
    ...(keys.beatPartitions === undefined ? {} : { mappings: beatMapping(keys.beatPartitions) }),
    ...(Object.keys(revocations).length > 0 ? { revocations } : {}),
  };
}

export function hubAccountClaims(keys: HubKeys): Json {
  const notices = (which: string, local: string) => ({
    name: local,
    subject: `$SYS.ACCOUNT.${keys.agents}.${which}`,
    account: keys.sys,
    type: 'stream',
    local_subject: local,
  });
  return {
    type: 'account',
    limits: { ...unlimited, ...jetStreamUnlimited },
    signing_keys: [keys.hubSigner, ...(keys.formerHubSigner === undefined ? [] : [keys.formerHubSigner])],
    exports: [
      { name: 'ask', subject: 'rollcall.ask.*.*', type: 'service' },
      { name: 'answer', subject: 'rollcall.answer.*.>', type: 'stream' },
    ],
    imports: [
      { name: 'beats', subject: 'rollcall.beat.*', account: keys.agents, type: 'stream' },
      { name: 'beats by partition', subject: 'rollcall.beatp.*.*', account: keys.agents, type: 'stream' },
      notices('CONNECT', 'rollcall.sys.connected'),
      notices('DISCONNECT', 'rollcall.sys.disconnected'),
      {
        name: 'how JetStream is set',
        subject: '$SYS.REQ.SERVER.PING.JSZ',
        account: keys.sys,
        type: 'service',
        local_subject: 'rollcall.sys.jetstream',
      },
      {
        name: 'whether servers can write',
        subject: '$SYS.REQ.SERVER.PING.HEALTHZ',
        account: keys.sys,
        type: 'service',
        local_subject: 'rollcall.sys.health',
      },
    ],
  };
}

/** The operator's claims: the root signs only this; accounts are signed by the listed keys. */
export function operatorClaims(sysAccount: string, signers: readonly Nkey[]): Json {
  return { type: 'operator', system_account: sysAccount, signing_keys: signers.map((key) => key.publicKey) };
}

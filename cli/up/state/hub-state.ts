import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import {
  agentRoles,
  accountKey,
  type AgentRole,
  everyAccount,
  type HubKeys,
  operatorClaims,
  otherRoles,
  type Role,
  type RoleAccount,
  roleAccounts,
  serviceRoles,
  type ServiceName,
  userClaims,
} from '@rollcall/shared/rights';
import {
  createCa,
  createNkey,
  createXkey,
  encodeJwt,
  hubIdOf,
  type Nkey,
  spkiPin,
} from '@rollcall/shared/trust';
import type { CredentialLife } from '../../trust/credential-lives.ts';
import { accountControllerKeys } from './account-controller-keys.ts';
import { readState, writePrivate } from '../private-files.ts';

/** Bumped when an older Rollcall could not read the directory any more. */
const stateVersion = 1;

/** What is public of a hub; everything that joins or watches it needs some of this. */
export interface HubState {
  readonly version: number;
  readonly hubId: string;
  readonly epoch: number;
  readonly replyKey: string;
  readonly keys: HubKeys;
  /** What the hub is known by: one certificate, and the next beside it while they roll over. */
  readonly caPem: string;
  /** `sha256:<hex>` of each of their public keys, with a comma between: for `--ca-cert-hash`. */
  readonly caCertHash: string;
  /** The one of them whose key is here and which signs the server's certificate; absent: `caPem`. */
  readonly issuingCaPem?: string;
  readonly operatorJwt: string;
  readonly accountJwts: Readonly<Record<string, string>>;
  readonly sentinelJwt: string;
  /** Keys that are rolling over, and since when they are where they are (`rollcall trust status`). */
  readonly rotations?: Readonly<Partial<Record<RotatedKey, Rotation>>>;
  /** How long credentials of members live that may be out there. */
  readonly credentialLives?: readonly CredentialLife[];
}

export const rotatedKeys = ['signing-keys', 'service-keys', 'ca', 'reply-key', 'operator-keys'] as const;
export type RotatedKey = (typeof rotatedKeys)[number];
export interface Rotation {
  readonly stage: 'announced' | 'switched';
  readonly atMs: number;
  /** Public key that it leads to, where a step that was stopped in the middle could not tell it any more. */
  readonly to?: string;
  /** The same, where a version before wrote it: as far as the registrars had said since it began. */
  readonly longestLifeMs?: number;
}

export interface BusUser {
  readonly jwt: string;
  readonly seed: string;
}

/** A user of the account that is the role's. */
export function busUser(
  role: Role,
  name: string,
  { keys, signer, expiresAtMs }: { keys: HubKeys; signer: Nkey; expiresAtMs?: number },
  nowMs: number,
): BusUser {
  const key = createNkey('user');
  const nats = userClaims(role, accountKey(keys, role.account));
  const ends = expiresAtMs === undefined ? {} : { expiresAtMs };
  return { jwt: encodeJwt({ subject: key.publicKey, name, nowMs, ...ends, nats }, signer), seed: key.seed };
}

/** Nobody signs with the roots of these accounts: their users are signed by the one key for all of them. */
export function newRoleAccounts(): HubKeys['roles'] {
  const keys = roleAccounts.map((name) => [name, createNkey('account').publicKey] as const);
  return Object.fromEntries(keys) as Record<RoleAccount, string>;
}

/** Files with the users for people, by role. */
export const credsFiles = { ops: 'ops.creds', inspector: 'inspector.creds' } as const;

/**
 * A user in the account of agents, signed by its root: the servers take the rights in a credential only from the root or an unscoped
 * key, and all that sign for agents are scoped.
 */
export function userAmongAgents(
  role: Role,
  name: string,
  { agents, expiresAtMs }: { agents: Nkey; expiresAtMs?: number },
  nowMs: number,
): BusUser {
  const key = createNkey('user');
  const { issuer_account: _root, ...nats } = userClaims(role, agents.publicKey);
  const ends = expiresAtMs === undefined ? {} : { expiresAtMs };
  return { jwt: encodeJwt({ subject: key.publicKey, name, nowMs, ...ends, nats }, agents), seed: key.seed };
}

export const noticeProbe = (agents: Nkey, nowMs: number): BusUser =>
  userAmongAgents(otherRoles['notice-probe'], 'notice-probe', { agents }, nowMs);

function credsBlock(what: string, text: string): string {
  return `-----BEGIN ${what}-----\n${text}\n------END ${what}------\n`;
}

/** The credentials file that the `nats` command and every NATS client read. */
export function credsFile(user: BusUser): string {
  return `${credsBlock('NATS USER JWT', user.jwt)}\n${credsBlock('USER NKEY SEED', user.seed)}`;
}

/**
 * Everybody who connects starts as this user, may do nothing, and is sent to the callout (`default_sentinel`).
 * It is no secret: a bearer token that grants nothing.
 * @param withWebSocket - whether the server listens for that as well: only what is on is a way in
 */
export function sentinelClaims(keys: Pick<HubKeys, 'auth'>, withWebSocket = false) {
  const nothing = { deny: ['>'] };
  return {
    type: 'user',
    issuer_account: keys.auth,
    bearer_token: true,
    pub: nothing,
    sub: nothing,
    subs: -1,
    data: -1,
    payload: -1,
    allowed_connection_types: withWebSocket ? ['STANDARD', 'WEBSOCKET'] : ['STANDARD'],
  };
}

function sentinel(keys: HubKeys, signer: Nkey, nowMs: number): string {
  const nats = sentinelClaims(keys);
  return encodeJwt({ subject: createNkey('user').publicKey, name: 'sentinel', nowMs, nats }, signer);
}

/** Makes all keys of a hub. The operator's root and the accounts' roots go to `offline/`; nothing that runs reads them. */
function createHub(stateDir: string, nowMs: number): HubState {
  const root = createNkey('operator');
  const operatorSigners = [createNkey('operator'), createNkey('operator')] as const;
  const account = {
    sys: createNkey('account'),
    auth: createNkey('account'),
    agents: createNkey('account'),
    hub: createNkey('account'),
  };
  const signer = { auth: createNkey('account'), hub: createNkey('account') };
  const roles = Object.keys(agentRoles) as AgentRole[];
  const agentSigners = Object.fromEntries(roles.map((role) => [role, createNkey('account')])) as Record<
    AgentRole,
    Nkey
  >;
  const calloutKey = createNkey('user');
  const xkey = createXkey();
  const replyKey = createNkey('account');
  const ca = createCa({ commonName: 'Rollcall hub CA', validForDays: 3650, nowMs });
  const keys: HubKeys = {
    sys: account.sys.publicKey,
    auth: account.auth.publicKey,
    agents: account.agents.publicKey,
    hub: account.hub.publicKey,
    roles: newRoleAccounts(),
    hubSigner: signer.hub.publicKey,
    authSigner: signer.auth.publicKey,
    agentSigners: Object.fromEntries(
      roles.map((role) => [role, agentSigners[role].publicKey]),
    ) as HubKeys['agentSigners'],
    calloutUser: calloutKey.publicKey,
    calloutXkey: xkey.publicKey,
  };
  const sign = (name: string, subject: string, nats: Readonly<Record<string, unknown>>) =>
    encodeJwt({ subject, name, nowMs, nats }, operatorSigners[0]);
  const hub: HubState = {
    version: stateVersion,
    hubId: hubIdOf(replyKey.publicKey),
    epoch: 1,
    replyKey: replyKey.publicKey,
    keys,
    caPem: ca.certificatePem,
    caCertHash: spkiPin(ca.certificatePem),
    operatorJwt: encodeJwt(
      { subject: root.publicKey, name: 'rollcall', nowMs, nats: operatorClaims(keys.sys, operatorSigners) },
      root,
    ),
    accountJwts: Object.fromEntries(
      everyAccount(keys).map(({ name, key, claims }) => [key, sign(name, key, claims)]),
    ),
    sentinelJwt: sentinel(keys, signer.auth, nowMs),
  };

  const issuer = { keys, signer: signer.hub };
  const base = { hubId: hub.hubId, epoch: hub.epoch };
  const more: Partial<Record<ServiceName, Record<string, unknown>>> = {
    registrar: {
      replyKeySeed: replyKey.seed,
      agentsAccount: keys.agents,
      agentSigners: Object.fromEntries(roles.map((role) => [role, agentSigners[role].seed])),
      callout: {
        seed: calloutKey.seed,
        jwt: encodeJwt(
          {
            subject: calloutKey.publicKey,
            name: 'callout',
            nowMs,
            nats: userClaims(otherRoles.callout, keys.auth),
          },
          signer.auth,
        ),
        account: keys.auth,
        // The account's own key signs callout responses: the server refuses those of its signing keys without saying why.
        accountSeed: account.auth.seed,
        xkeySeed: xkey.seed,
      },
    },
    heartbeat: { noticeProbe: noticeProbe(account.agents, nowMs) },
    'account-controller': {
      ...accountControllerKeys(keys),
      operatorSigningSeed: operatorSigners[1].seed,
      sys: busUser(otherRoles.claims, 'claims', issuer, nowMs),
    },
  };
  for (const name of Object.keys(serviceRoles) as ServiceName[]) {
    const identity = { ...base, bus: busUser(serviceRoles[name], name, issuer, nowMs), ...more[name] };
    writePrivate(join(stateDir, 'identities', `${name}.json`), JSON.stringify(identity, undefined, 2));
  }
  const setup = busUser(otherRoles.setup, 'setup', issuer, nowMs);
  writePrivate(join(stateDir, 'identities', 'setup.json'), JSON.stringify({ ...base, bus: setup }));
  for (const [role, file] of Object.entries(credsFiles) as [keyof typeof credsFiles, string][])
    writePrivate(join(stateDir, file), credsFile(busUser(otherRoles[role], role, issuer, nowMs)));
  writePrivate(join(stateDir, 'nats', 'ca-key.pem'), ca.privateKeyPem);
  const offline = {
    operator: root.seed,
    operatorSigners: operatorSigners.map((key) => key.seed),
    accounts: Object.fromEntries(Object.entries(account).map(([name, key]) => [name, key.seed])),
    signers: Object.fromEntries(Object.entries(signer).map(([name, key]) => [name, key.seed])),
  };
  writePrivate(join(stateDir, 'offline', 'keys.json'), JSON.stringify(offline, undefined, 2));
  // Last, because its presence says that everything else is there.
  writePrivate(join(stateDir, 'hub.json'), JSON.stringify(hub, undefined, 2));
  return hub;
}

/**
 * The hub of a state directory: the one that is there, or a new one.
 * @throws RollcallError STATE_VERSION, STATE_INVALID
 */
export function openHubState(stateDir: string, nowMs: number): HubState {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const found = readState<HubState>(join(stateDir, 'hub.json'));
  if (!found) return createHub(stateDir, nowMs);
  if (found.version !== stateVersion) {
    throw new RollcallError(
      'STATE_VERSION',
      `"${stateDir}" was written with state version ${found.version}; this Rollcall reads ${stateVersion}`,
    );
  }
  return found;
}

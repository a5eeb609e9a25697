import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import { linkSignedByCa, type SignedLink } from '@rollcall/shared/protocol';
import {
  accountKey,
  everyAccount,
  type HubKeys,
  otherRoles,
  type Role,
  serviceRoles,
  userClaims,
} from '@rollcall/shared/rights';
import { accountControllerKeys } from './account-controller-keys.ts';
import {
  createNkey,
  decodeJwt,
  encodeJwt,
  type JwtClaims,
  type Nkey,
  nkeyFromSeed,
} from '@rollcall/shared/trust';
import {
  type BusUser,
  busUser,
  credsFile,
  credsFiles,
  type HubState,
  newRoleAccounts,
  noticeProbe,
  openHubState,
  sentinelClaims,
} from './hub-state.ts';
import { type OfflineKeys, readOfflineKeys } from './offline-keys.ts';
import { parseCreds } from './people-connection.ts';
import { readState, writePrivate } from '../private-files.ts';
import { type Revocations, unionOf } from './revocations-of.ts';
import { readCaKey } from './server-certificate.ts';
import { inTurn } from './state-lock.ts';

type Claims = Readonly<Record<string, unknown>>;

/** As it comes back from JSON: absent and undefined are the same there. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function says(jwt: string, wanted: Claims): boolean {
  return isDeepStrictEqual(decodeJwt(jwt)?.nats, plain({ ...wanted, version: 2 }));
}

/** The same subject, name and end by newer claims. */
function signedAgain(jwt: string, nats: Claims, by: { signer: Nkey; nowMs: number }): string {
  const claims: JwtClaims | undefined = decodeJwt(jwt);
  if (!claims) throw new RollcallError('STATE_INVALID', 'a credential of the state directory cannot be read');
  const { sub: subject, name, exp, iat } = claims;
  return encodeJwt(
    {
      subject,
      ...(name === undefined ? {} : { name }),
      ...(exp === undefined ? {} : { expiresAtMs: exp * 1000 }),
      // Servers take the newer of two claims of an account, by the second.
      nowMs: Math.max(by.nowMs, (iat + 1) * 1000),
      nats,
    },
    by.signer,
  );
}

interface Renewal {
  readonly stateDir: string;
  readonly hub: HubState;
  readonly nowMs: number;
  signer(of: 'hub' | 'auth'): Nkey;
  agentsRoot(): Nkey;
  renewed(what: string): void;
}

/** @returns the credentials that say what the table says; the same object where they did */
function renewUser(user: BusUser, what: { name: string; role: Role }, renewal: Renewal) {
  const { account } = what.role;
  const { keys } = renewal.hub;
  const wanted = userClaims(what.role, accountKey(keys, account));
  const signers = account === 'AUTH' ? [keys.authSigner] : [keys.hubSigner, keys.formerHubSigner];
  if (says(user.jwt, wanted) && signers.includes(decodeJwt(user.jwt)?.iss)) return user;
  renewal.renewed(what.name);
  const signer = renewal.signer(account === 'AUTH' ? 'auth' : 'hub');
  return { ...user, jwt: signedAgain(user.jwt, wanted, { signer, nowMs: renewal.nowMs }) };
}

/** Links of before the CA signed them are followed by no agent. */
function signedChain(found: IdentityFile, { stateDir }: Renewal): readonly SignedLink[] | undefined {
  if (found.replyChain?.every(({ caSignature }) => caSignature !== undefined) !== false)
    return found.replyChain;
  const caKey = readCaKey(stateDir);
  return found.replyChain.map((link) => linkSignedByCa(link, caKey));
}

interface IdentityFile {
  readonly hubId?: string;
  readonly epoch?: number;
  readonly bus: BusUser;
  readonly sys?: BusUser;
  readonly callout?: BusUser;
  readonly noticeProbe?: BusUser;
  /** Of the account-controller. */
  readonly hubKeys?: HubKeys;
  /** Of the registrar. */
  readonly replyChain?: readonly SignedLink[];
}

/** A state directory of before the heartbeat service proved that it is told of connections has none. */
function probeOf(name: string, found: IdentityFile, renewal: Renewal): BusUser | undefined {
  if (name !== 'heartbeat' || found.noticeProbe) return found.noticeProbe;
  renewal.renewed('notice-probe');
  return noticeProbe(renewal.agentsRoot(), renewal.nowMs);
}

function renewIdentity(name: string, role: Role, renewal: Renewal): void {
  const { stateDir, hub, nowMs } = renewal;
  const path = join(stateDir, 'identities', `${name}.json`);
  const found = readState<IdentityFile>(path);
  if (!found) {
    renewal.renewed(name);
    const bus = busUser(role, name, { keys: hub.keys, signer: renewal.signer('hub') }, nowMs);
    writePrivate(path, JSON.stringify({ hubId: hub.hubId, epoch: hub.epoch, bus }, undefined, 2));
    return;
  }
  const { sys, callout, hubKeys } = found;
  const probe = probeOf(name, found, renewal);
  const replyChain = signedChain(found, renewal);
  const identity = {
    ...found,
    bus: renewUser(found.bus, { name, role }, renewal),
    ...(sys ? { sys: renewUser(sys, { name: 'claims', role: otherRoles.claims }, renewal) } : {}),
    ...(callout
      ? { callout: renewUser(callout, { name: 'callout', role: otherRoles.callout }, renewal) }
      : {}),
    ...(probe ? { noticeProbe: probe } : {}),
    ...(hubKeys ? accountControllerKeys(withAccountsOf(hubKeys, hub.keys)) : {}),
    ...(replyChain ? { replyChain } : {}),
  };
  if (!isDeepStrictEqual(identity, found)) writePrivate(path, JSON.stringify(identity, undefined, 2));
}

/** Which accounts there are and who signs their users; what else rolls over is not touched here. */
function withAccountsOf({ formerHubSigner: _former, ...keys }: HubKeys, now: HubKeys): HubKeys {
  const { roles, hubSigner, formerHubSigner } = now;
  return { ...keys, roles, hubSigner, ...(formerHubSigner === undefined ? {} : { formerHubSigner }) };
}

/** The users for people. One whose file was taken away stays away, unless this Rollcall is the first to have it. */
function renewCreds(renewal: Renewal, isFirst: (role: keyof typeof credsFiles) => boolean): void {
  const { stateDir, hub, nowMs } = renewal;
  for (const [name, file] of Object.entries(credsFiles) as [keyof typeof credsFiles, string][]) {
    const path = join(stateDir, file);
    const found = existsSync(path) ? parseCreds(readFileSync(path, 'utf8')) : undefined;
    const role = otherRoles[name];
    if (found) {
      const user = renewUser(found, { name, role }, renewal);
      if (user !== found) writePrivate(path, credsFile(user));
    } else if (isFirst(name)) {
      renewal.renewed(name);
      const issuer = { keys: hub.keys, signer: renewal.signer('hub') };
      writePrivate(path, credsFile(busUser(role, name, issuer, nowMs)));
    }
  }
}

/**
 * Before roles had accounts of their own, services and people were users of account HUB, each of whom could reach all of it. They
 * move, and the key that had signed them goes: whoever still holds such a credential is refused.
 */
function withRoleAccounts(hub: HubState, stateDir: string, why: string): HubState {
  const { roles } = hub.keys as Partial<HubKeys>;
  const wanted = { ...newRoleAccounts(), ...roles };
  if (roles) return isDeepStrictEqual(roles, wanted) ? hub : { ...hub, keys: { ...hub.keys, roles: wanted } };
  const signer = createNkey('account');
  const { nextHubSigner: _next, ...offline } = readOfflineKeys(stateDir, why);
  const moved: OfflineKeys = { ...offline, signers: { ...offline.signers, hub: signer.seed } };
  writePrivate(join(stateDir, 'offline', 'keys.json'), JSON.stringify(moved, undefined, 2));
  const { formerHubSigner: _former, ...keys } = hub.keys;
  const { 'service-keys': _rotation, ...rotations } = hub.rotations ?? {};
  return { ...hub, rotations, keys: { ...keys, roles: wanted, hubSigner: signer.publicKey } };
}

/**
 * The claims of an account that the server has now: what was pushed while it ran is in its own directory, and newer than what
 * it began with.
 */
function accountNow({ stateDir, hub }: Renewal, account: string): string {
  return pushedAccount(stateDir, account) ?? hub.accountJwts[account] ?? '';
}

/** @returns undefined where the server keeps them elsewhere: that of a hub in a cluster does */
function pushedAccount(stateDir: string, account: string): string | undefined {
  const path = join(stateDir, 'nats', 'jwt', `${account}.jwt`);
  const pushed = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  return pushed !== undefined && decodeJwt(pushed) ? pushed : undefined;
}

function renewAccounts(
  renewal: Renewal,
  operatorSigner: () => Nkey,
  alsoRevoked: Revocations,
): HubState['accountJwts'] {
  const { hub, nowMs, stateDir } = renewal;
  // What the account-controller pushed wins over claims that know nobody who was revoked; it makes all of them itself.
  const isOnlyBeginning = (key: string) =>
    key === hub.keys.agents && pushedAccount(stateDir, key) === undefined;
  // What was revoked while it ran stays revoked.
  const { revocations = {} } = decodeJwt(accountNow(renewal, hub.keys.agents))?.nats ?? {};
  const accounts = everyAccount(hub.keys, unionOf([revocations as Revocations, alsoRevoked]));
  return Object.fromEntries(
    accounts.map(({ name, key, claims }) => {
      const now = accountNow(renewal, key);
      if (says(now, claims)) return [key, hub.accountJwts[key] ?? now];
      renewal.renewed(`account ${name}`);
      const signer = operatorSigner();
      const isNew = decodeJwt(now) === undefined;
      return [
        key,
        isNew
          ? encodeJwt({ subject: key, name, nowMs, nats: claims }, signer)
          : signedAgain(now, claims, { signer, nowMs: isOnlyBeginning(key) ? 0 : nowMs }),
      ];
    }),
  );
}

interface Renewing {
  /** Whether the server is going to listen for WebSocket. Default: no, as far as it ever did not. */
  readonly withWebSocket?: boolean;
  /** By another epoch of this hub; its agents stay out as well. */
  readonly alsoRevoked?: Revocations;
}

/**
 * Has everything that this hub once signed say what the rights table of this Rollcall says: users of services and people,
 * accounts, the sentinel. Keys stay as they are, so nobody who holds one has to be told. Run before the server starts; where there is
 * no hub yet, it is made.
 * @returns what had to be signed again
 * @throws RollcallError KEYS_OFFLINE where the keys that sign it are not here, STATE_INVALID, STATE_VERSION, STATE_IN_USE
 */
export function upgradeHubState(stateDir: string, nowMs: number, how: Renewing = {}): readonly string[] {
  // In turn with those who change a document of it: what a rotation has written meanwhile is not taken back.
  return inTurn(stateDir, 'keys.lock', () => renewed(openHubState(stateDir, nowMs), stateDir, nowMs, how));
}

function renewed(
  found: HubState,
  stateDir: string,
  nowMs: number,
  { withWebSocket = false, alsoRevoked = {} }: Renewing,
): readonly string[] {
  const told: string[] = [];
  const why = 'this Rollcall gives other rights than the one that made the state directory';
  const hub = withRoleAccounts(found, stateDir, why);
  const renewal: Renewal = {
    stateDir,
    hub,
    nowMs,
    signer: (of) => nkeyFromSeed(readOfflineKeys(stateDir, why).signers[of]),
    agentsRoot: () => nkeyFromSeed(readOfflineKeys(stateDir, why).accounts.agents),
    renewed: (what) => void told.push(what),
  };
  for (const [name, role] of Object.entries({ ...serviceRoles, setup: otherRoles.setup })) {
    renewIdentity(name, role, renewal);
  }
  const isMoved = (found.keys as Partial<HubKeys>).roles === undefined;
  renewCreds(renewal, (role) => role !== 'ops' && isMoved);
  const operatorSigner = () => nkeyFromSeed(readOfflineKeys(stateDir, why).operatorSigners[0] ?? '');
  const accountJwts = renewAccounts(renewal, operatorSigner, alsoRevoked);
  // Once it is in, it stays: to take it out again is not worth bringing the offline keys for, as nobody listens any more.
  const wanted = sentinelClaims(
    hub.keys,
    withWebSocket || says(hub.sentinelJwt, sentinelClaims(hub.keys, true)),
  );
  const sentinelIsRight = says(hub.sentinelJwt, wanted);
  if (!sentinelIsRight) renewal.renewed('sentinel');
  const sentinelJwt = sentinelIsRight
    ? hub.sentinelJwt
    : signedAgain(hub.sentinelJwt, wanted, { signer: renewal.signer('auth'), nowMs });
  const isSame = sentinelIsRight && isDeepStrictEqual({ ...hub, accountJwts }, found);
  if (!isSame) {
    writePrivate(
      join(stateDir, 'hub.json'),
      JSON.stringify({ ...hub, accountJwts, sentinelJwt }, undefined, 2),
    );
  }
  return told;
}

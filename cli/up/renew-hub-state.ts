import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import {
  agentsAccountClaims,
  authAccountClaims,
  hubAccountClaims,
  otherRoles,
  type Role,
  serviceRoles,
  sysAccountClaims,
  userClaims,
} from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt, type JwtClaims, type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { type BusUser, busUser, credsFile, type HubState, noticeProbe, sentinelClaims } from './hub-state.ts';
import { readOfflineKeys } from './offline-keys.ts';
import { parseCreds } from './ops-connection.ts';
import { readState, writePrivate } from './private-files.ts';

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
  signer(of: 'hub' | 'sys' | 'auth'): Nkey;
  agentsRoot(): Nkey;
  renewed(what: string): void;
}

/** @returns the credentials that say what the table says; the same object where they did */
function renewUser(
  user: BusUser,
  what: { name: string; role: Role; of: 'hub' | 'sys' | 'auth' },
  renewal: Renewal,
) {
  const wanted = userClaims(what.role, renewal.hub.keys[what.of]);
  if (says(user.jwt, wanted)) return user;
  renewal.renewed(what.name);
  return {
    ...user,
    jwt: signedAgain(user.jwt, wanted, { signer: renewal.signer(what.of), nowMs: renewal.nowMs }),
  };
}

interface IdentityFile {
  readonly hubId?: string;
  readonly epoch?: number;
  readonly bus: BusUser;
  readonly sys?: BusUser;
  readonly callout?: BusUser;
  readonly noticeProbe?: BusUser;
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
    const bus = busUser(role, name, { account: hub.keys.hub, signer: renewal.signer('hub') }, nowMs);
    writePrivate(path, JSON.stringify({ hubId: hub.hubId, epoch: hub.epoch, bus }, undefined, 2));
    return;
  }
  const { sys, callout } = found;
  const probe = probeOf(name, found, renewal);
  const identity = {
    ...found,
    bus: renewUser(found.bus, { name, role, of: 'hub' }, renewal),
    ...(sys ? { sys: renewUser(sys, { name: 'claims', role: otherRoles.claims, of: 'sys' }, renewal) } : {}),
    ...(callout
      ? { callout: renewUser(callout, { name: 'callout', role: otherRoles.callout, of: 'auth' }, renewal) }
      : {}),
    ...(probe ? { noticeProbe: probe } : {}),
  };
  const isSame = identity.bus === found.bus && identity.sys === sys && identity.callout === callout;
  if (isSame && probe === found.noticeProbe) return;
  writePrivate(path, JSON.stringify(identity, undefined, 2));
}

function renewOps(renewal: Renewal): void {
  const path = join(renewal.stateDir, 'ops.creds');
  const found = existsSync(path) ? parseCreds(readFileSync(path, 'utf8')) : undefined;
  if (!found) return;
  const user = renewUser(found, { name: 'ops', role: otherRoles.ops, of: 'hub' }, renewal);
  if (user !== found) writePrivate(path, credsFile(user));
}

/**
 * The claims of an account that the server has now: what was pushed while it ran is in its own directory, and newer than what
 * it began with.
 */
function accountNow({ stateDir, hub }: Renewal, account: string): string {
  const path = join(stateDir, 'nats', 'jwt', `${account}.jwt`);
  const pushed = existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
  return pushed !== undefined && decodeJwt(pushed) ? pushed : (hub.accountJwts[account] ?? '');
}

function renewAccounts(renewal: Renewal, operatorSigner: () => Nkey): HubState['accountJwts'] {
  const { hub, nowMs } = renewal;
  const { keys } = hub;
  const renew = (account: string, name: string, wanted: (now: Claims) => Claims): string => {
    const now = accountNow(renewal, account);
    const claims = decodeJwt(now)?.nats ?? {};
    if (says(now, wanted(claims))) return hub.accountJwts[account] ?? now;
    renewal.renewed(`account ${name}`);
    return signedAgain(now, wanted(claims), { signer: operatorSigner(), nowMs });
  };
  return {
    [keys.sys]: renew(keys.sys, 'SYS', () => sysAccountClaims(keys)),
    [keys.auth]: renew(keys.auth, 'AUTH', () => authAccountClaims(keys)),
    // Its revocations go along: a newer preload takes the place of what was pushed.
    [keys.agents]: renew(keys.agents, 'AGENTS', ({ revocations }) =>
      agentsAccountClaims(keys, (revocations ?? {}) as Record<string, number>),
    ),
    [keys.hub]: renew(keys.hub, 'HUB', () => hubAccountClaims(keys)),
  };
}

/**
 * Has everything that this hub once signed say what the rights table of this Rollcall says: users of services and people,
 * accounts, the sentinel. Keys stay as they are, so nobody who holds one has to be told. Run before the server starts.
 * @param options.withWebSocket - whether the server is going to listen for WebSocket (default: no, as far as it ever did not)
 * @returns what had to be signed again
 * @throws RollcallError KEYS_OFFLINE where the keys that sign it are not here, STATE_INVALID
 */
export function renewHubState(
  hub: HubState,
  stateDir: string,
  nowMs: number,
  { withWebSocket = false }: { withWebSocket?: boolean } = {},
): readonly string[] {
  const renewed: string[] = [];
  const why = 'this Rollcall gives other rights than the one that made the state directory';
  const renewal: Renewal = {
    stateDir,
    hub,
    nowMs,
    signer: (of) => nkeyFromSeed(readOfflineKeys(stateDir, why).signers[of]),
    agentsRoot: () => nkeyFromSeed(readOfflineKeys(stateDir, why).accounts.agents),
    renewed: (what) => void renewed.push(what),
  };
  for (const [name, role] of Object.entries({ ...serviceRoles, setup: otherRoles.setup })) {
    renewIdentity(name, role, renewal);
  }
  renewOps(renewal);
  const operatorSigner = () => nkeyFromSeed(readOfflineKeys(stateDir, why).operatorSigners[0] ?? '');
  const accountJwts = renewAccounts(renewal, operatorSigner);
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
  const isSame = sentinelIsRight && isDeepStrictEqual(accountJwts, hub.accountJwts);
  if (!isSame) {
    writePrivate(
      join(stateDir, 'hub.json'),
      JSON.stringify({ ...hub, accountJwts, sentinelJwt }, undefined, 2),
    );
  }
  return renewed;
}

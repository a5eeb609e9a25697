import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { everyAccount, type HubKeys, otherRoles, roleAccounts, serviceRoles } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { accountControllerKeys } from '../up/state/account-controller-keys.ts';
import { type BusUser, busUser, credsFile, credsFiles } from '../up/state/hub-state.ts';
import { parseCreds } from '../up/state/people-connection.ts';
import { readState, writePrivate } from '../up/private-files.ts';
import { connectedBy } from './agent-connections.ts';
import type { HubFiles } from './hub-files.ts';
import { pushAccounts } from './rotate-operator-keys.ts';

/** HUB and the accounts of roles as these keys make them, on every server and for the next start. */
async function changeAccounts(files: HubFiles, keys: HubKeys, nowMs: number): Promise<void> {
  const { accountJwts } = files.read('hub');
  const signer = nkeyFromSeed(files.read('account-controller').operatorSigningSeed);
  const ours: ReadonlySet<string> = new Set(['HUB', ...roleAccounts]);
  const changed = everyAccount(keys)
    .filter(({ name }) => ours.has(name))
    // Last what the push itself goes through.
    .toSorted((a, b) => Number(a.name === 'CLAIMS') - Number(b.name === 'CLAIMS'))
    .map(({ name, key, claims }) => {
      // Servers take the newer of two claims, by the second.
      const issuedMs = Math.max(nowMs, ((decodeJwt(accountJwts[key] ?? '')?.iat ?? 0) + 1) * 1000);
      return [key, encodeJwt({ subject: key, name, nowMs: issuedMs, nats: claims }, signer)] as const;
    });
  await pushAccounts(
    files,
    changed.map(([, jwt]) => jwt),
  );
  const jwts = { ...accountJwts, ...Object.fromEntries(changed) };
  files.change('hub', (hub) => ({ ...hub, keys, accountJwts: jwts }));
  files.change('account-controller', (identity) => ({ ...identity, ...accountControllerKeys(keys) }));
}

/** Of those that are not by the present key yet. Each service reads its file again and connects with the new user; whoever starts meanwhile has it from the beginning. */
function writeUsers(files: HubFiles, nowMs: number): void {
  const { keys } = files.read('hub');
  const issuer = { keys, signer: nkeyFromSeed(files.read('offline').signers.hub) };
  const isOurs = (jwt: string) => decodeJwt(jwt)?.iss === issuer.signer.publicKey;
  for (const [name, role] of Object.entries({ ...serviceRoles, setup: otherRoles.setup })) {
    const path = join(files.stateDir, 'identities', `${name}.json`);
    const identity = readState<{ readonly bus: BusUser }>(path);
    const bus = busUser(role, name, issuer, nowMs);
    if (identity && !isOurs(identity.bus.jwt))
      writePrivate(path, JSON.stringify({ ...identity, bus }, undefined, 2));
  }
  for (const [role, file] of Object.entries(credsFiles) as [keyof typeof credsFiles, string][]) {
    const path = join(files.stateDir, file);
    if (existsSync(path) && !isOurs(parseCreds(readFileSync(path, 'utf8')).jwt))
      writePrivate(path, credsFile(busUser(otherRoles[role], role, issuer, nowMs)));
  }
  // Not a service's own user, but signed by the same key.
  files.change('account-controller', (identity) =>
    isOurs(identity.sys.jwt)
      ? identity
      : { ...identity, sys: busUser(otherRoles.claims, 'claims', issuer, nowMs) },
  );
}

/**
 * A next key signs new users for all services; those of the present one stay good.
 * @throws RollcallError CLAIMS_NOT_APPLIED, BUS_UNREACHABLE while the hub does not run
 */
export async function announceServiceKeys(files: HubFiles, nowMs: number): Promise<void> {
  const { nextHubSigner } = files.read('offline');
  // One that was stopped in the middle goes on with the same key: the account may know it already.
  const next = nextHubSigner === undefined ? createNkey('account') : nkeyFromSeed(nextHubSigner);
  files.change('offline', (offline) => ({ ...offline, nextHubSigner: next.seed }));
  const { keys } = files.read('hub');
  const { hubSigner: formerHubSigner } = keys;
  if (formerHubSigner !== next.publicKey)
    await changeAccounts(files, { ...keys, hubSigner: next.publicKey, formerHubSigner }, nowMs);
  files.change('offline', (offline) => ({
    ...offline,
    signers: { ...offline.signers, hub: next.seed },
  }));
  files.change('hub', (hub) => ({
    ...hub,
    rotations: { ...hub.rotations, 'service-keys': { stage: 'switched', atMs: nowMs } },
  }));
  finishAnnouncement(files, nowMs);
}

/** Also of one that was stopped in the middle. Until the last write the next key is still that one, and not a third. */
function finishAnnouncement(files: HubFiles, nowMs: number): void {
  writeUsers(files, nowMs);
  files.change('offline', ({ nextHubSigner: _isNow, ...offline }) => offline);
}

/**
 * The users of the former key are void.
 * @throws RollcallError ROTATION_NOT_DUE while somebody is connected with one; CLAIMS_NOT_APPLIED, BUS_UNREACHABLE
 */
export async function dropServiceKeys(
  files: HubFiles,
  { nowMs, isNow }: { nowMs: number; isNow: boolean },
): Promise<void> {
  finishAnnouncement(files, nowMs);
  const { keys, rotations } = files.read('hub');
  const { formerHubSigner: former, ...good } = keys;
  const connected = former === undefined ? [] : await connectedBy(files, former);
  if (connected.length > 0 && !isNow) {
    const names = [...new Set(connected)].toSorted().join(', ');
    throw new RollcallError(
      'ROTATION_NOT_DUE',
      `still connected with a user of the former key: ${names}; a service takes its new one when its file is replaced, or when it starts`,
    );
  }
  await changeAccounts(files, good, nowMs);
  const { 'service-keys': _done, ...others } = rotations ?? {};
  files.change('hub', (hub) => ({ ...hub, rotations: others }));
}

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { operatorClaims } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt, type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import type { HubFiles } from './hub-files.ts';
import { untilTold } from './wait-until-told.ts';

const answerWithinMs = 2000;

/** The server reads the list of signing keys when it starts, and only then. Those in a cluster did in the step that changed it. */
function checkListIsRead(files: HubFiles): void {
  const { operatorJwt } = files.read('hub');
  const path = join(files.stateDir, 'nats', 'nats.conf');
  if (!existsSync(path) || readFileSync(path, 'utf8').includes(operatorJwt)) return;
  throw new RollcallError(
    'ROTATION_NOT_DUE',
    'the NATS server has not been started since the list of operator keys was changed; restart the hub first',
  );
}

/** The same claims by another signer. Servers take the newer of two, so `nowMs` decides whether it replaces what they have. */
function signedAgain(jwt: string, signer: Nkey, nowMs: number): string {
  const claims = decodeJwt(jwt);
  if (!claims)
    throw new RollcallError('STATE_INVALID', 'hub.json has an account whose claims cannot be read');
  const { sub: subject, name, nats } = claims;
  return encodeJwt({ subject, ...(name === undefined ? {} : { name }), nowMs, nats }, signer);
}

/**
 * The answer to a push is lost where it changes an account that the answer itself comes through; what is stored then tells.
 * @throws errors of nats.js, RollcallError CLAIMS_NOT_APPLIED
 */
async function push(nc: NatsConnection, jwt: string): Promise<void> {
  const asked = nc.request('$SYS.REQ.CLAIMS.UPDATE', jwt, { timeout: answerWithinMs });
  const answer = await asked.catch((error: unknown) => {
    if (error instanceof errors.TimeoutError) return undefined;
    throw error;
  });
  const account = decodeJwt(jwt)?.sub ?? '';
  const isTaken =
    answer === undefined
      ? (
          await nc.request(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`, '', { timeout: answerWithinMs })
        ).string() === jwt
      : answer.json<{ data?: { code?: number } }>().data?.code === 200;
  if (!isTaken) throw new RollcallError('CLAIMS_NOT_APPLIED', 'the NATS server refused an account');
}

/** @throws RollcallError CLAIMS_NOT_APPLIED, BUS_UNREACHABLE while the hub does not run */
export async function pushAccounts(files: HubFiles, jwts: readonly string[]): Promise<void> {
  const nc = await connectBus(files.address, files.read('account-controller').sys, 'claims');
  try {
    for (const jwt of jwts) await push(nc, jwt);
  } finally {
    await nc.close();
  }
}

/**
 * Everything is signed by the other listed key, by the account-controller what is its own; the one that signed is not on the list that
 * servers read when they start.
 * @throws RollcallError ROTATION_NOT_DUE, CLAIMS_NOT_APPLIED, BUS_UNREACHABLE
 */
export async function rotateOperatorKeys(files: HubFiles, nowMs: number): Promise<void> {
  checkListIsRead(files);
  const { hub, offline, controller } = {
    hub: files.read('hub'),
    offline: files.read('offline'),
    controller: files.read('account-controller'),
  };
  // Whoever was stopped in the middle goes on to the same key: by then the account-controller may sign with it already.
  const begun = hub.rotations?.['operator-keys']?.to;
  const staying = offline.operatorSigners.find((seed) =>
    begun === undefined ? seed !== controller.operatorSigningSeed : nkeyFromSeed(seed).publicKey === begun,
  );
  if (staying === undefined) throw new RollcallError('STATE_INVALID', 'there is no second operator key');
  const signer = nkeyFromSeed(staying);
  const rotation = { stage: 'announced', atMs: nowMs, to: signer.publicKey } as const;
  files.change('hub', (before) => ({
    ...before,
    rotations: { ...before.rotations, 'operator-keys': rotation },
  }));
  const next = createNkey('operator');
  const root = nkeyFromSeed(offline.operator);
  const accountJwts = Object.fromEntries(
    Object.entries(hub.accountJwts).map(([account, jwt]) => {
      // The servers have newer claims of AGENTS, with its revocations: a preload must not win over them.
      const issuedMs = account === hub.keys.agents ? (decodeJwt(jwt)?.iat ?? 0) * 1000 : nowMs;
      return [account, signedAgain(jwt, signer, issuedMs)];
    }),
  );
  const { [hub.keys.agents]: _kept, ...others } = accountJwts;
  await pushAccounts(files, Object.values(others));
  files.change('account-controller', (identity) => ({ ...identity, operatorSigningSeed: staying }));
  await untilTold(
    files,
    'the other operator key signs',
    ({ operatorKey }) => operatorKey === signer.publicKey,
  );
  files.change('offline', (before) => ({ ...before, operatorSigners: [staying, next.seed] }));
  const nats = operatorClaims(hub.keys.sys, [signer, next]);
  files.change('hub', (before) => ({
    ...before,
    accountJwts,
    rotations: { ...before.rotations, 'operator-keys': { ...rotation, stage: 'switched' } },
    operatorJwt: encodeJwt({ subject: root.publicKey, name: 'rollcall', nowMs, nats }, root),
  }));
}

/**
 * The servers have the list without the former key, or will when they start. Until then the rotation stands there: the same again
 * finishes it.
 * @returns whether they have it
 */
export async function listToServers(files: HubFiles): Promise<boolean> {
  const { configuration: isRead } = await files.toServers();
  files.change('hub', ({ rotations: { 'operator-keys': _done, ...rotations } = {}, ...hub }) => ({
    ...hub,
    rotations,
  }));
  return isRead;
}

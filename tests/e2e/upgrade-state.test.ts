import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { type BusAddress, type BusCredentials, connectionOptions, jwtProof } from '@rollcall/shared/bus';
import {
  accountKey,
  agentRoles,
  otherRoles,
  type Role,
  roleAccounts,
  serviceRoles,
  userClaims,
} from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, expect, test } from 'vitest';
import { credsFile, type HubState, openHubState } from '../../cli/up/state/hub-state.ts';
import { parseCreds } from '../../cli/up/state/people-connection.ts';
import { startTestEmbeddedHub } from '../harness/embedded.ts';

const base = mkdtempSync(join(tmpdir(), 'rollcall-upgrade-'));
const stateDir = join(base, 'state');
afterAll(() => rmSync(base, { recursive: true, force: true }));

const read = <Shape>(...path: string[]) => JSON.parse(readFileSync(join(stateDir, ...path), 'utf8')) as Shape;
const write = (value: unknown, ...path: string[]) =>
  writeFileSync(join(stateDir, ...path), JSON.stringify(value), { mode: 0o600 });

/** The same claims with the first of each list of rights left out, as an earlier table would have said it. */
function withFewerRights(jwt: string, seed: string): string {
  const claims = decodeJwt(jwt);
  const nats = structuredClone(claims?.nats) as {
    pub?: { allow?: string[] };
    sub?: { allow?: string[] };
    imports?: unknown[];
    signing_keys?: (string | { template?: { pub?: { allow?: string[] } } })[];
  };
  for (const list of [nats.pub?.allow, nats.sub?.allow, nats.imports]) list?.splice(0, 1);
  for (const key of nats.signing_keys ?? []) if (typeof key === 'object') key.template?.pub?.allow?.splice(1);
  const { sub = '', name = '' } = claims ?? {};
  return encodeJwt({ subject: sub, name, nowMs: 1_700_000_000_000, nats }, nkeyFromSeed(seed));
}

/** For both epochs of the hub. */
let token: string;

test('a state directory of an earlier Rollcall gets the rights of this one, and keeps its keys', async () => {
  const hub = openHubState(stateDir, Date.now());
  const { signers, operatorSigners } = read<{
    signers: Record<string, string>;
    operatorSigners: [string, string];
  }>('offline', 'keys.json');
  const seeds: Record<string, string> = {};
  for (const name of ['registrar', 'approver', 'heartbeat', 'projector', 'account-controller', 'setup']) {
    const identity = read<{ bus: { jwt: string; seed: string } }>('identities', `${name}.json`);
    seeds[name] = identity.bus.seed;
    const bus = { ...identity.bus, jwt: withFewerRights(identity.bus.jwt, signers['hub'] ?? '') };
    write({ ...identity, bus }, 'identities', `${name}.json`);
  }
  // A service that did not exist then.
  rmSync(join(stateDir, 'identities', 'rbac-provisioner.json'));
  const accountJwts = Object.fromEntries(
    Object.entries(hub.accountJwts).map(([key, jwt]) => [key, withFewerRights(jwt, operatorSigners[0])]),
  );
  write({ ...hub, accountJwts }, 'hub.json');

  await using running = await startTestEmbeddedHub({ stateDir });
  expect(running.up.services.map(({ name, notReady }) => [name, notReady()])).toEqual(
    running.up.services.map(({ name }) => [name, undefined]),
  );
  const now = openHubState(stateDir, Date.now());
  expect(now.keys).toEqual(hub.keys);
  for (const [name, seed] of Object.entries(seeds)) expectUser(now, name, seed);
  expect(existsSync(join(stateDir, 'identities', 'rbac-provisioner.json'))).toBe(true);
  const agents = decodeJwt(now.accountJwts[hub.keys.agents] ?? '')?.nats['signing_keys'];
  expect(JSON.stringify(agents)).toContain(JSON.stringify(agentRoles.member.publish));

  ({ text: token } = await running.createToken({ uses: 2 }));
  await running.startAgent({ name: 'works', token });
  await running.untilReady('works');
});

function expectUser({ keys }: HubState, name: string, seed: string): void {
  const { bus } = read<{ bus: { jwt: string; seed: string } }>('identities', `${name}.json`);
  const role: Role = name === 'setup' ? otherRoles.setup : serviceRoles[name as keyof typeof serviceRoles];
  expect(bus.seed).toBe(seed);
  const claims = decodeJwt(bus.jwt);
  expect(claims?.nats).toEqual({ ...userClaims(role, accountKey(keys, role.account)), version: 2 });
  expect(claims?.iss).toBe(keys.hubSigner);
}

test('services and people who were users of account HUB move to their own, and who kept a credential of then is refused', async () => {
  const hub = openHubState(stateDir, Date.now());
  const { signers } = read<{ signers: { hub: string } }>('offline', 'keys.json');
  const inHub = (user: { jwt: string; seed: string }) => {
    const { sub = '', name = '' } = decodeJwt(user.jwt) ?? {};
    // What there was for people then: the streams themselves.
    const asked = ['$JS.API.STREAM.INFO.EVENTS', '$JS.API.DIRECT.GET.EVENTS'];
    const role: Role = { ...otherRoles.ops, account: 'HUB', publish: asked };
    const nats = userClaims(role, hub.keys.hub);
    const jwt = encodeJwt({ subject: sub, name, nowMs: 1_700_000_000_000, nats }, nkeyFromSeed(signers.hub));
    return { ...user, jwt };
  };
  const { roles: _none, ...keys } = hub.keys;
  for (const name of Object.keys(serviceRoles)) {
    const identity = read<{ bus: { jwt: string; seed: string } }>('identities', `${name}.json`);
    const more = name === 'account-controller' ? { hubKeys: keys } : {};
    write({ ...identity, ...more, bus: inHub(identity.bus) }, 'identities', `${name}.json`);
  }
  const copy = inHub(parseCreds(readFileSync(join(stateDir, 'ops.creds'), 'utf8')));
  writeFileSync(join(stateDir, 'ops.creds'), credsFile(copy), { mode: 0o600 });
  rmSync(join(stateDir, 'inspector.creds'));
  const four = [keys.sys, keys.auth, keys.agents, keys.hub];
  const accountJwts = Object.fromEntries(four.map((key) => [key, hub.accountJwts[key]]));
  write({ ...hub, keys, accountJwts }, 'hub.json');

  await using running = await startTestEmbeddedHub({ stateDir });
  const now = openHubState(stateDir, Date.now());
  const { hubSigner, roles, ...same } = now.keys;
  expect({ ...same, hubSigner: keys.hubSigner }).toEqual(keys);
  expect(hubSigner).not.toBe(keys.hubSigner);
  expect(Object.keys(roles).toSorted()).toEqual(roleAccounts.toSorted());
  await expect(connectOnce(running.up.natsAddress, copy)).rejects.toThrow('Authorization Violation');
  // The history is the same, and goes on.
  await running.startAgent({ name: 'moved', token });
  await running.untilReady('moved');
  expect((await running.cluster('works'))?.metadata.name).toBe('works');
});

async function connectOnce(address: BusAddress, user: BusCredentials): Promise<void> {
  const options = { ...connectionOptions(address, 'ops'), reconnect: false, ignoreAuthErrorAbort: false };
  const nc = await connect({ ...options, authenticator: jwtProof(user) });
  await nc.close();
}

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentRoles, otherRoles, serviceRoles, userClaims } from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, expect, test } from 'vitest';
import { openHubState } from '../../cli/up/hub-state.ts';
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

test('a state directory of an earlier Rollcall gets the rights of this one, and keeps its keys', async () => {
  const hub = openHubState(stateDir, Date.now());
  const { signers, operatorSigners } = read<{
    signers: Record<string, string>;
    operatorSigners: [string, string];
  }>('offline', 'keys.json');
  const seeds: Record<string, string> = {};
  for (const name of ['registrar', 'approver', 'heartbeat', 'projector', 'trust-keeper', 'setup']) {
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
  for (const [name, seed] of Object.entries(seeds)) {
    const { bus } = read<{ bus: { jwt: string; seed: string } }>('identities', `${name}.json`);
    const role = name === 'setup' ? otherRoles.setup : serviceRoles[name as keyof typeof serviceRoles];
    expect(bus.seed).toBe(seed);
    expect(decodeJwt(bus.jwt)?.nats).toEqual({ ...userClaims(role, hub.keys.hub), version: 2 });
  }
  expect(existsSync(join(stateDir, 'identities', 'rbac-provisioner.json'))).toBe(true);
  const now = openHubState(stateDir, Date.now());
  expect(now.keys).toEqual(hub.keys);
  const agents = decodeJwt(now.accountJwts[hub.keys.agents] ?? '')?.nats['signing_keys'];
  expect(JSON.stringify(agents)).toContain(JSON.stringify(agentRoles.member.publish));

  await running.startAgent({ name: 'works', token: (await running.createToken()).text });
  await running.untilReady('works');
});

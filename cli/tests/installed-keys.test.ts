import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { accountKey, otherRoles, roleAccounts, serviceRoles, userClaims } from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hubKeys } from '../install/hub/hub-keys.ts';
import { hubObjects } from '../install/hub/hub-objects.ts';
import { hubValuesSchema } from '../install/hub/hub-values.ts';
import { noteMemberLife } from '../install/hub/note-credential-life.ts';
import { openHubFiles } from '../trust/hub-files.ts';
import { type HubState, openHubState } from '../up/state/hub-state.ts';

/** The directory with the keys of a hub that runs in a cluster; no server is started in it. */
let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'rollcall-keys-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const values = (given: object = {}) => hubValuesSchema.parse(given);
const install = () =>
  hubKeys(stateDir, { hosts: ['hub.example.org'], nats: values().nats, withWebSocket: false });
const read = <Shape>(...path: string[]) => JSON.parse(readFileSync(join(stateDir, ...path), 'utf8')) as Shape;
const write = (value: unknown, ...path: string[]) =>
  writeFileSync(join(stateDir, ...path), JSON.stringify(value), { mode: 0o600 });

interface Identity {
  readonly bus: { readonly jwt: string; readonly seed: string };
}

/** As a version left it before roles had accounts of their own: everybody is a user of account HUB. */
function asBefore(): HubState {
  install();
  const hub = openHubState(stateDir, Date.now());
  const { signers } = read<{ signers: { hub: string } }>('offline', 'keys.json');
  const { roles: _none, ...keys } = hub.keys;
  for (const name of Object.keys(serviceRoles)) {
    const { bus, ...identity } = read<Identity>('identities', `${name}.json`);
    const nats = userClaims({ ...otherRoles.ops, account: 'HUB' }, keys.hub);
    const subject = decodeJwt(bus.jwt)?.sub ?? '';
    const jwt = encodeJwt({ subject, name, nowMs: 1_700_000_000_000, nats }, nkeyFromSeed(signers.hub));
    const more = name === 'account-controller' ? { hubKeys: keys } : {};
    write({ ...identity, ...more, bus: { ...bus, jwt } }, 'identities', `${name}.json`);
  }
  const four = [keys.sys, keys.auth, keys.agents, keys.hub];
  const accountJwts = Object.fromEntries(four.map((key) => [key, hub.accountJwts[key]]));
  write({ ...hub, keys, accountJwts }, 'hub.json');
  return hub;
}

test('a hub in a cluster of before gets an account for each role, and the Secrets have users of those', () => {
  const before = asBefore();
  const { hub, secrets } = install();
  expect(Object.keys(hub.keys.roles).toSorted()).toEqual(roleAccounts.toSorted());
  expect(hub.keys.hubSigner).not.toBe(before.keys.hubSigner);
  expect(hub.keys.agents).toBe(before.keys.agents);
  const textOf = (name: string, file: string) => {
    const secret = secrets.find(({ metadata }) => metadata.name === name);
    return Buffer.from(secret?.data?.[file] ?? '', 'base64').toString();
  };
  for (const [name, role] of Object.entries(serviceRoles)) {
    const { bus } = JSON.parse(textOf(`rollcall-identity-${name}`, 'identity.json')) as Identity;
    const { iss, nats } = decodeJwt(bus.jwt) ?? {};
    expect(iss).toBe(hub.keys.hubSigner);
    expect(nats?.['issuer_account']).toBe(accountKey(hub.keys, role.account));
  }
  // What the server begins with has all of them.
  const config = textOf('rollcall-nats', 'nats.conf');
  for (const account of Object.values(hub.keys.roles)) expect(config).toContain(account);
});

test('where the keys that sign are elsewhere, the move is refused before anything is changed', () => {
  asBefore();
  rmSync(join(stateDir, 'offline', 'keys.json'));
  const files = () =>
    ['hub.json', ...Object.keys(serviceRoles).map((name) => join('identities', `${name}.json`))].map((file) =>
      readFileSync(join(stateDir, file), 'utf8'),
    );
  const before = files();
  expect(install).toThrow(
    expect.objectContaining({ code: 'KEYS_OFFLINE', message: expect.stringContaining('gives other rights') }),
  );
  expect(files()).toEqual(before);
});

test('where nothing is to be signed, the keys that sign may be elsewhere', () => {
  const { digest } = install();
  rmSync(join(stateDir, 'offline', 'keys.json'));
  expect(install().digest).toBe(digest);
});

test('the life of credentials that is installed is kept with the keys, and what was longer until it has ended', () => {
  install();
  const hourMs = 3_600_000;
  const files = openHubFiles(stateDir);
  const lives = () => files.read('hub').credentialLives;
  const env = [{ name: 'ROLLCALL_MEMBER_LIFE', value: '72h' }];
  noteMemberLife(files, values({ services: { registrar: { env } } }), 0);
  expect(lives()).toEqual([{ lifeMs: 72 * hourMs }]);
  noteMemberLife(files, values(), hourMs);
  expect(lives()).toEqual([{ lifeMs: 72 * hourMs, endsAtMs: 73 * hourMs }, { lifeMs: 24 * hourMs }]);
});

type Deployment = KubeObject<{ readonly strategy?: object }>;

test('no two versions of a service that would write over each other run side by side', () => {
  const deployments = hubObjects(values({ hub: { id: 'h' } })).filter(({ kind }) => kind === 'Deployment');
  const strategies = (deployments as Deployment[]).map(({ metadata, spec }) => [
    metadata.name,
    spec?.strategy,
  ]);
  const oneAfterTheOther = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '100%' } };
  expect(Object.fromEntries(strategies)).toEqual({
    'rollcall-agent-host': { type: 'Recreate' },
    'rollcall-approver': undefined,
    'rollcall-heartbeat': undefined,
    'rollcall-projector': oneAfterTheOther,
    'rollcall-rbac-provisioner': undefined,
    'rollcall-registrar': undefined,
    'rollcall-account-controller': undefined,
  });
});

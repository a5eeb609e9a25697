import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type BusCredentials, connectBus } from '@rollcall/shared/bus';
import { type KubeObject, requestAccountToken, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pods } from '../../cli/install/workloads.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { send } from '../../console/tests/send.ts';
import { servingSecret } from '../../console/tests/serving-secret.ts';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';
import { until } from '../harness/embedded.ts';
import { everythingIn } from '../harness/everything.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';
import { hubServices } from './one-machine.ts';
import type { Pod } from './pod-files.ts';

const system = 'rollcall-system';

let hub: ChartHub;
beforeAll(async () => {
  hub = await startChartHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

let given: object;

/** Whoever installed it, it may be in use by others: it is made where it is missing, and then left alone. */
const kindOfProfiles = 'clusterprofiles.multicluster.x-k8s.io';
const readKindOfProfiles = () =>
  hub.plane.admin.get(resources.customResourceDefinitions, { name: kindOfProfiles });

test('keys first: Secrets for the chart, values for its release, and nothing secret in those [RO-1]', async () => {
  const { values, made } = await hub.makeKeys();
  given = values;
  expect(made.stdout).not.toMatch(/SEED|PRIVATE|S[UAO][A-Z0-9]{40}/);
  const names = (await hub.plane.admin.list(resources.secrets, { namespace: system })).map(
    ({ metadata }) => metadata.name,
  );
  expect(names.toSorted()).toEqual([
    ...[...hubServices, 'setup'].toSorted().map((name) => `rollcall-identity-${name}`),
    'rollcall-inspector',
    'rollcall-member-gateway',
    'rollcall-nats',
    'rollcall-ops',
  ]);
});

test('hub and agent, installed by chart, reach Ready with the rights of their charts and no others [RO-1] [RO-2]', async () => {
  const installed = await hub.chart(['install', 'hub'], 'hub', given);
  expect(installed.code, installed.stderr).toBe(0);
  await hub.untilAllRun();
  const memberAccess = { users: { 'rollcall-admin': true } };
  await hub.installAgent('own', { memberAccess });
  expect((await hub.cluster('own'))?.status?.namespace).toBe('own');
});

test('people reach a member through a hub of the chart, as whom its owner lets them in [CN-8]', async () => {
  const ask = () => hub.rollcall('kubectl', 'own', '--', 'auth', 'whoami', '-o', 'json');
  await expect
    .poll(async () => (await ask()).stderr, { timeout: 60_000, interval: 1000 })
    .not.toMatch(/error/i);
  const { status } = JSON.parse((await ask()).stdout) as { status: { userInfo: { username: string } } };
  expect(status.userInfo.username).toBe('rollcall:rollcall-admin');
  const refused = await hub.rollcall('kubectl', 'own', '--', 'get', 'secrets', '--all-namespaces');
  expect(refused.stderr).toContain('User "rollcall:rollcall-admin" cannot list resource "secrets"');
});

test('an upgrade of the chart restarts the hub, and clusters come back by themselves [RO-1]', async () => {
  const changedKind = { spec: { names: { shortNames: ['cprof'] } } };
  await hub.plane.admin.mergePatch(resources.customResourceDefinitions, kindOfProfiles, changedKind);
  const refused = await hub.install();
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain('belongs to release "hub" of Helm');
  const key = (await hub.cluster('own'))?.status?.keyFingerprint;
  const changed = { ...given, tolerations: [{ operator: 'Exists' }] };
  const upgraded = await hub.chart(['upgrade', 'hub'], 'hub', changed);
  expect(upgraded.code, upgraded.stderr).toBe(0);
  await hub.untilAllRun();
  const ready = await hub.readiness('own', 'True');
  expect(ready.status?.keyFingerprint).toBe(key);
  expect(await readKindOfProfiles()).toMatchObject(changedKind);
});

test('a release that goes leaves what people have; the command goes on from there, with the same keys only [RO-1]', async () => {
  const gone = await hub.release(['uninstall', 'hub'], 'hub');
  expect(gone.code, gone.stderr).toBe(0);
  expect(await hub.cluster('own')).toBeDefined();
  expect(await hub.plane.admin.get(resources.namespaces, { name: 'rollcall-join' })).toBeDefined();

  // Under other keys nobody could open what is kept.
  const others = await hub.install('--keys', join(hub.folder, 'other'), '--advertise', hub.address);
  expect({ code: others.code, stderr: others.stderr }).toEqual({
    code: 3,
    stderr: expect.stringMatching(/the data of hub \S+ is kept here/),
  });
  const again = await hub.install('--advertise', hub.address);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout).toBe('the hub runs\n');
  expect(await readKindOfProfiles()).toMatchObject({ spec: { names: { shortNames: ['cprof'] } } });
  await hub.readiness('own', 'True');
  const other = await hub.install('--keys', join(hub.folder, 'other'));
  expect(other.code).toBe(3);
  expect(other.stderr).toContain('has no keys');
  const valuesFile = join(hub.folder, 'three.yaml');
  writeFileSync(valuesFile, 'hub: { servers: 3 }\nparts: { workloads: false }\n');
  const passedOver = await hub.install('--values', valuesFile);
  expect(passedOver).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/give --servers 3\n.*give --workloads-context/),
  });
  const dry = await hub.install('--dry-run');
  expect(dry, dry.stderr).toMatchObject({ code: 0, stdout: 'the hub can be installed (dry run)\n' });
  expect(dry.stderr).toMatch(/\[install\] \d+ objects: unchanged/);
  expect(dry.stderr).not.toContain('would be');
  const unchanged = await hub.install();
  expect(unchanged.stderr).not.toContain('[install]');
  expect(unchanged.code).toBe(0);
});

test('a hub that is to have no member gateway takes it out of the API, and one that is to have it again puts it there', async () => {
  const without = join(hub.folder, 'without.yaml');
  const none = 'services: { member-gateway: { replicas: 0 } }\nmemberGateway: { externalName: "" }\n';
  writeFileSync(without, none);
  const announced = () => hub.plane.admin.get(resources.apiServices, { name: 'v1alpha1.proxy.rollcall.dev' });
  const projectorsEnv = async () => {
    const place = { namespace: system, name: 'rollcall-projector' };
    return JSON.stringify((await hub.plane.admin.get(resources.deployments, place))?.['spec']);
  };
  expect(await announced()).toBeDefined();
  const dry = await hub.install('--values', without, '--dry-run');
  expect(dry.code, dry.stderr).toBe(0);
  expect(dry.stderr).toMatch(/Deployment rollcall-projector: would be changed \(spec\.template\.spec/);
  expect(dry.stderr).toContain('Deployment rollcall-system/rollcall-member-gateway: would be deleted');
  expect(await announced()).toBeDefined();
  const taken = await hub.install('--values', without);
  expect(taken.code, taken.stderr).toBe(0);
  expect(await announced()).toBeUndefined();
  expect(await projectorsEnv()).toContain('ROLLCALL_MEMBER_GATEWAY');
  expect(taken.stderr).toContain('Deployment rollcall-system/rollcall-member-gateway: deleted');
  const again = await hub.install();
  expect(again.code, again.stderr).toBe(0);
  expect(await announced()).toBeDefined();
  expect(await projectorsEnv()).not.toContain('ROLLCALL_MEMBER_GATEWAY');
});

test('a console is there by a value, with no right and no token of its own, and goes with the value', async () => {
  if (isPageStale()) await buildPage();
  const values = join(hub.folder, 'console.yaml');
  const host = `console.example.org:${hub.consolePort}`;
  writeFileSync(values, `console: { host: '${host}', tlsSecret: console-tls }\n`);
  const late = await hub.install('--values', values, '--no-wait');
  expect(late.code, late.stderr).toBe(0);
  await until('doctor says what it waits for', async () =>
    /console.*console-tls/s.test((await hub.rollcall('doctor')).stdout),
  );
  const { ca, secret } = servingSecret('console-tls', 'console.example.org');
  await hub.plane.admin.create(resources.secrets, secret, { namespace: system });
  const somebody = { name: 'default', namespace: system };
  const { token = '' } = await requestAccountToken(hub.plane.admin, somebody, {});
  const ask = (path: string, headers: Record<string, string>, body?: string) =>
    send(`https://127.0.0.1:${hub.consolePort}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { host, origin: `https://${host}`, ...headers },
      tls: { ca, servername: 'console.example.org' },
      ...(body === undefined ? {} : { body }),
    });
  const statusOf = (path: string) =>
    ask(path, {}).then(
      ({ status }) => status,
      () => 'nobody listens',
    );
  await expect.poll(() => statusOf('/sign-in'), { timeout: 120_000 }).toBe(200);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const signedIn = await ask('/sign-in', form, `token=${token}`);
  expect(signedIn.status).toBe(303);
  const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const refused = await ask('/api/policies', { cookie });
  expect([refused.status, refused.body]).toEqual([
    403,
    expect.stringContaining('serviceaccount:rollcall-system:default'),
  ]);
  const running = await hub.plane.admin.list<Pod>(pods, { namespace: system });
  const ofConsole = running.find(({ spec }) => spec?.serviceAccountName === 'rollcall-console');
  expect(JSON.stringify(ofConsole?.spec)).not.toMatch(/serviceAccountToken|identity/);

  const gone = await hub.install();
  expect(gone.stderr).toContain('Deployment rollcall-system/rollcall-console: deleted');
});

test('events are sent to a sink by a value, signed, and after its pod was replaced none is missing', async () => {
  const taken: { name: string; signature: unknown }[] = [];
  await using sink = createServer(async (request, response) => {
    const [, name = ''] = /"name":"([\w-]+)"/.exec(await text(request)) ?? [];
    taken.push({ name, signature: request.headers['webhook-signature'] });
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(sink, 'listening');
  const stringData = {
    url: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/hook`,
    'signing-secret': 'a secret of enough bytes',
  };
  const metadata = { name: 'sink', namespace: system };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData };
  await hub.plane.admin.create<KubeObject>(resources.secrets, secret, { namespace: system });
  const values = join(hub.folder, 'forward.yaml');
  writeFileSync(values, 'forward: { secret: sink, signed: true, args: [--type, token.declared] }\n');
  const installed = await hub.install('--values', values);
  expect(installed.code, installed.stderr).toBe(0);
  const make = (name: string) => hub.rollcall('token', 'create', '--name', name);
  let count = 0;
  await until('it forwards', async () => {
    await make(`before-${count++}`);
    return taken.length > 0;
  });
  const place = { namespace: system, name: 'rollcall-forward-0' };
  const first = await hub.plane.admin.get(pods, place);
  await hub.plane.admin.delete(pods, place.name, { namespace: system });
  await make('between');
  await until('another pod goes on', async () => taken.some(({ name }) => name === 'between'));
  expect((await hub.plane.admin.get(pods, place))?.metadata.uid).not.toBe(first?.metadata.uid);
  const names = taken.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
  for (const { signature } of taken) expect(signature).toMatch(/^v1,/);
  const gone = await hub.install();
  expect(gone.stderr).toContain('StatefulSet rollcall-system/rollcall-forward: deleted');
});

test('dead letters are mended from the directory with the keys', async () => {
  const dead = (verb: string) => hub.rollcall('dead', verb, '--all', '--keys', hub.keys);
  const none = await dead('retry');
  expect(none.code, none.stderr).toBe(0);
  expect(none.stderr).toContain('No dead letters.');
  const path = join(hub.keys, 'identities', 'projector.json');
  const { bus } = JSON.parse(readFileSync(path, 'utf8')) as { bus: BusCredentials };
  const { caPem } = openHubFiles(hub.keys).read('hub');
  const nc = await connectBus({ servers: [hub.address], caPem }, bus, 'projector');
  const event = { service: 'projector', subject: 'rollcall.events.cluster.c1.approved', sequence: 1 };
  const letter = { ...event, code: 'EVENT_INVALID', message: 'no section', deliveries: 1 };
  nc.publish('rollcall.dead.projector.1', JSON.stringify(letter));
  await nc.flush();
  await nc.close();
  const dropped = await until('the letter is there, and goes', async () => {
    const { stdout } = await dead('drop');
    return stdout !== '' && stdout;
  });
  expect(dropped).toBe('dropped: 1\n');
});

test('keys that run roll over from the directory that has them; a backup holds all of the hub', async () => {
  const rotate = (key: string) => hub.rollcall('trust', 'rotate', key, '--keys', hub.keys);
  for (const key of ['service-keys', 'signing-keys', 'reply-key']) {
    const rotated = await rotate(key);
    expect(rotated.code, rotated.stderr).toBe(0);
  }
  await until('every service has taken its new user', async () => (await rotate('service-keys')).code === 0);
  await hub.untilAllRun();
  await hub.readiness('own', 'True');
  const told = await runCli(['trust', 'addresses', 'other.example.org:4222', '--keys', hub.keys]);
  expect(told.stderr).toContain('`rollcall install hub` tells them');
  expect(told.code).toBe(2);

  const passphrase = join(hub.folder, 'passphrase');
  writeFileSync(passphrase, 'correct horse battery staple');
  const sealed = ['--passphrase-file', passphrase];
  const file = join(hub.folder, 'hub.backup');
  const kept = await hub.rollcall('backup', file, '--keys', hub.keys, ...sealed);
  expect(kept.code, kept.stderr).toBe(0);
  expect(kept.stdout).toContain('keys sealed');
  const over = await runCli(['restore', file, '--state-dir', hub.keys, '--keep-kubernetes', ...sealed]);
  expect(over.stderr).toContain('has the keys of a hub whose history is in a cluster');
  const restored = await runCli(['restore', file, '--state-dir', join(hub.folder, 'restored'), ...sealed]);
  expect(restored.code, restored.stderr).toBe(0);
  expect(restored.stdout).toContain('epoch 2 begins');
});

test('uninstall says who is still registered and what stays, and removes that with a flag [RO-1]', async () => {
  const kept = await hub.rollcall('uninstall', 'hub');
  expect(kept).toMatchObject({ code: 0, stdout: 'the hub is removed\n' });
  expect(kept.stderr).toContain('still registered here: 1 (own)');
  expect(kept.stderr).toContain('stays: namespace rollcall-system with the keys');
  expect(await hub.cluster('own')).toBeDefined();

  expect((await hub.rollcall('uninstall', 'hub', '--with-data')).code).toBe(0);
  const agent = await runCli([
    'uninstall',
    'agent',
    '--with-keys',
    '--member-kubeconfig',
    hub.plane.plane.adminKubeconfigPath,
  ]);
  expect(agent.code).toBe(3);
  await hub.release(['uninstall', 'agent'], 'agent');
  await hub.plane.admin.delete(resources.namespaces, 'rollcall-agent');
  await hub.plane.admin.delete(resources.namespaces, 'own');
  const left = async () => (await everythingIn(hub.plane.admin)).filter((one) => one.includes('rollcall'));
  await until('nothing is left', async () => (await left()).length === 0).catch(() => undefined);
  expect(await left()).toEqual([]);
});

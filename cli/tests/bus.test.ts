import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { headers } from '@nats-io/transport-node';
import { draft, nameReleased } from '@rollcall/shared/events';
import { createRegistrationToken, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareToken, requestAs } from '../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { runCli, startCli } from './run-cli.ts';

const told = { reason: 'R', message: 'm' };
let hub: TestHub;
let busFlags: string[];
let bogus: string;

beforeAll(async () => {
  hub = await startTestHub();
  const caFile = join(hub.stateDir, 'ca.pem');
  writeFileSync(caFile, hub.address.caPem);
  bogus = join(hub.stateDir, 'bogus.creds');
  writeFileSync(bogus, 'nothing');
  const creds = join(hub.stateDir, 'inspector.creds');
  busFlags = ['--server', `127.0.0.1:${hub.port}`, '--ca-file', caFile, '--creds', creds];
  const log = await hub.openLog('approver');
  await declareToken(log, hub.hub.hubId, { name: 'first\u001b[2J' });
});
afterAll(() => hub[Symbol.asyncDispose]());

test('the history is one line an event [X-2]', async () => {
  const { code, stdout } = await runCli(['events', ...busFlags]);
  expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+Z {2}token\.declared .*Declared: declared\n$/);
  expect(code).toBe(0);
});

test('the embedded hub of the directory is found without a flag', async () => {
  const { code, stdout } = await runCli(['events', '--type', 'token.declared', '-o', 'json'], {
    environment: { ROLLCALL_HOME: hub.stateDir },
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ specversion: '1.0', type: 'dev.rollcall.token.declared.v1' });
  expect(stdout).not.toContain('\u001b');
});

test.each([
  { output: 'json', want: /^\{"specversion":"1\.0".*\}\n$/ },
  { output: 'yaml', want: /^---\nspecversion: "1\.0"\n[^]*\n {2}section:\n/ },
  { output: 'wide', want: / {2}\[\d+ approver test\] Declared: declared\n$/ },
  { output: 'name', want: /^token\/\S+\n$/ },
])('the history as $output', async ({ output, want }) => {
  const { code, stdout } = await runCli(['events', '-o', output, ...busFlags]);
  expect(stdout).toMatch(want);
  expect(stdout).not.toContain('\u001b');
  expect(code).toBe(0);
});

test('what is chosen away is not shown', async () => {
  expect((await runCli(['events', '--type', 'approved', ...busFlags])).stdout).toBe('');
  const unknown = await runCli(['events', '--cluster', 'nobody', ...busFlags]);
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('"nobody"') });
});

test('following shows what is stored and what is only heard, until it is interrupted [X-2]', async () => {
  await using cli = startCli(['events', '--follow', ...busFlags]);
  await cli.line(/token\.declared/);
  const heartbeat = await hub.connectAs('heartbeat');
  const live = { state: 'connection-lost', reason: 'ConnectionLost', atMs: Date.now() };
  heartbeat.publish('rollcall.live.edge-1', JSON.stringify(live));
  expect(await cli.line(/live/)).toMatch(/live connection-lost +edge-1 +ConnectionLost$/);
  const log = await hub.openLog('approver');
  const { key } = await declareToken(log, hub.hub.hubId, { name: 'second' });
  await cli.line(
    new RegExp(`token\\.declared +rollcall-join/second \\(${tokenIdOf(key.publicKey).slice(0, 8)}`),
  );
  cli.child.kill('SIGINT');
  expect((await cli.result).code).toBe(0);
});

test('a hub that is away is exit 5, credentials that are none are a clear error', async () => {
  const [, , ...rest] = busFlags;
  const away = await runCli(['events', '--server', '127.0.0.1:1', ...rest]);
  expect(away).toMatchObject({ code: 5, stderr: expect.stringContaining('127.0.0.1:1') });
  const wrong = await runCli(['events', ...busFlags.slice(0, -1), bogus]);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('no JWT and seed') });
});

test('credentials that have ended are refused, and not taken for a bus that is away', async () => {
  const { jwt, seed } = hub.agentCredentials('member', 'x', { lifeMs: -1000 });
  const ended = join(hub.stateDir, 'ended.creds');
  const block = (what: string, text: string) => `-----BEGIN ${what}-----\n${text}\n------END ${what}------\n`;
  writeFileSync(ended, block('NATS USER JWT', jwt) + block('USER NKEY SEED', seed));
  const { code, stderr } = await runCli(['events', ...busFlags.slice(0, -1), ended]);
  expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining('BUS_REFUSED') });
});

test('who can reach the bus alone sees what it knows', async () => {
  await requestAs(await hub.openLog('registrar'), 'seen', Date.now());
  const described = await runCli(['describe', 'cluster', 'seen', ...busFlags]);
  expect(described).toMatchObject({ code: 0, stdout: expect.stringMatching(/^State: +waiting$/m) });
  expect(described.stdout).toMatch(/^Not known:\n {2}kubernetes: there is no hub/m);
  const status = await runCli(['status', ...busFlags]);
  expect(status).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('the API server: there is no hub'),
  });
  const doctor = await runCli(['doctor', ...busFlags]);
  expect(doctor.stdout).toMatch(/^ok +nats: connected to /m);
});

test('a password in an address is shown to nobody', async () => {
  const [, server = '', , ca = '', , creds = ''] = busFlags;
  const environment = { NATS_URL: `nats://alice:s3cret@${server}`, NATS_CA: ca, NATS_CREDS: creds };
  const { code, stdout, stderr } = await runCli(['events'], { environment });
  expect(code).toBe(0);
  expect(stderr).toContain(`bus: ${server} (NATS_URL)`);
  expect(stdout + stderr).not.toContain('s3cret');
});

test('--creds says who we are, also where the environment says where the bus is', async () => {
  const [, server = '', , ca = '', , creds = ''] = busFlags;
  const environment = { NATS_URL: server, NATS_CA: ca, NATS_CREDS: creds };
  expect(await runCli(['events'], { environment })).toMatchObject({ code: 0 });
  const wrong = await runCli(['events', '--creds', bogus], { environment });
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('no JWT and seed') });
});

test('of a hub that a flag names, the environment says nothing', async () => {
  const [, , , ca = '', , creds = ''] = busFlags;
  const nowhere = { NATS_URL: 'nats://127.0.0.1:1', NATS_CA: ca, NATS_CREDS: creds, NATS_CONTEXT: 'none' };
  const kubeconfig = join(hub.stateDir, 'none.kubeconfig');
  for (const flags of [
    ['--kubeconfig', kubeconfig],
    ['--context', 'other'],
  ]) {
    const { code, stderr } = await runCli(['events', ...flags], { environment: nowhere });
    expect(code).not.toBe(0);
    expect(stderr).not.toMatch(/NATS_|127\.0\.0\.1:1|"none"/);
  }
});

test('a type that is asked for leaves out what is only heard', async () => {
  await using cli = startCli(['events', '--follow', '--type', 'token.declared', '-o', 'json', ...busFlags]);
  await cli.line(/token\.declared/);
  const heartbeat = await hub.connectAs('heartbeat');
  const live = { state: 'connection-lost', reason: 'ConnectionLost', atMs: Date.now() };
  heartbeat.publish('rollcall.live.edge-1', JSON.stringify(live));
  await heartbeat.flush();
  await declareToken(await hub.openLog('approver'), hub.hub.hubId, { name: 'third' });
  await cli.line(/"name":"third"/);
  cli.child.kill('SIGINT');
  const { stdout } = await cli.result;
  expect(stdout).not.toContain('connection-lost');
});

test('following begins with the last of the past, and not with all of it', async () => {
  const log = await hub.openLog('approver');
  for (const name of ['past-1', 'past-2', 'past-3']) await declareToken(log, hub.hub.hubId, { name });
  const follow = ['events', '--follow', '--type', 'token.declared', ...busFlags];
  await using cli = startCli([...follow, '--tail', '2']);
  await cli.line(/rollcall-join\/past-3/);
  await declareToken(log, hub.hub.hubId, { name: 'new-1' });
  await cli.line(/rollcall-join\/new-1/);
  cli.child.kill('SIGINT');
  const names = [...(await cli.result).stdout.matchAll(/rollcall-join\/(\S+)/g)].map(([, name]) => name);
  expect(names).toEqual(['past-2', 'past-3', 'new-1']);
  const last = await runCli(['events', '--tail', '2', '--type', 'token.declared', ...busFlags]);
  expect([...last.stdout.matchAll(/rollcall-join\/(\S+)/g)].map(([, name]) => name)).toEqual([
    'past-3',
    'new-1',
  ]);
});

test('following begins with the last 20 where nobody says how many', async () => {
  const log = await hub.openLog('approver');
  const names = Array.from({ length: 25 }, (_, index) => `many-${index}`);
  for (const name of names) await declareToken(log, hub.hub.hubId, { name });
  await using cli = startCli(['events', '--follow', '--type', 'token.declared', ...busFlags]);
  await cli.line(/rollcall-join\/many-24/);
  await declareToken(log, hub.hub.hubId, { name: 'newest' });
  await cli.line(/rollcall-join\/newest/);
  cli.child.kill('SIGINT');
  const shown = [...(await cli.result).stdout.matchAll(/rollcall-join\/(\S+)/g)].map(([, name]) => name);
  expect(shown).toEqual([...names.slice(-20), 'newest']);
});

test('following goes on where it was when the bus was away, and leaves nothing out unsaid', async () => {
  await using cli = startCli(['events', '--follow', ...busFlags]);
  await cli.line(/token\.declared/);
  await hub.natsServer.kill();
  await cli.line(/going on as soon as it answers/);
  await hub.natsServer.restart();
  const log = await hub.openLog('approver');
  const newer = headers();
  newer.set('ce-type', 'dev.rollcall.token.declared.v9');
  const nc = await hub.connectAs('approver');
  await nc.request('rollcall.events.token.newer.declared', '{}', { headers: newer, timeout: 5000 });
  const { key } = await declareToken(log, hub.hub.hubId, { name: 'after' });
  await cli.line(/left out: /);
  await cli.line(
    new RegExp(`token\\.declared +rollcall-join/after \\(${tokenIdOf(key.publicKey).slice(0, 8)}`),
  );
  cli.child.kill('SIGINT');
  expect((await cli.result).code).toBe(0);
});

test('of a long history only what is young enough is read', async () => {
  const log = await hub.openLog('approver', { nowMs: () => Date.now() - 7_200_000 });
  const nc = await hub.connectAs('approver');
  const unreadable = headers();
  unreadable.set('ce-type', 'dev.rollcall.token.declared.v9');
  await nc.request('rollcall.events.token.older.declared', '{}', { headers: unreadable, timeout: 5000 });
  const released = (index: number) => {
    const id = `older-${index}`;
    const section = { name: id, clusterId: id, free: true };
    return draft(nameReleased, { aggregate: { kind: 'name', id }, head: undefined }, { ...told, section });
  };
  for (const batch of [0, 1, 2]) {
    const drafts = Array.from({ length: 400 }, (_, index) => released(batch * 400 + index));
    await log.append(drafts, { correlation: 't' });
  }
  const { key } = await declareToken(await hub.openLog('approver'), hub.hub.hubId, { name: 'young' });
  const line = new RegExp(
    `^\\S+ +token\\.declared +rollcall-join/young \\(${tokenIdOf(key.publicKey).slice(0, 8)}.*$`,
  );
  const young = await runCli(['events', '--since', '1h', ...busFlags]);
  expect(young.stdout.trimEnd()).toMatch(line);
  expect(young.stderr).not.toContain('left out');
  await using cli = startCli(['events', '--since', '1h', '--follow', ...busFlags]);
  await cli.line(line);
  cli.child.kill('SIGINT');
  expect((await cli.result).stderr).not.toContain('left out');
  const older = await runCli(['events', '--since', '3h', ...busFlags]);
  expect(older.stdout.split('\n').length).toBeGreaterThan(1200);
});

test('a cluster that has left is found by the name that it had', async () => {
  const log = await hub.openLog('approver');
  const on = { aggregate: { kind: 'name', id: 'former' }, head: undefined } as const;
  const section = { name: 'former', clusterId: 'c-of-former', free: true };
  await log.append([draft(nameReleased, on, { ...told, section })], { correlation: 't' });
  const { code, stderr } = await runCli(['events', '--cluster', 'former', ...busFlags]);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('No events found') });
});

test('dead letters are listed with why, and garbage among them is left out', async () => {
  const registrar = await hub.connectAs('registrar');
  const letter = {
    service: 'registrar',
    subject: 'rollcall.events.cluster.c1.approved',
    sequence: 7,
    code: 'EVENT_INVALID',
    message: 'no section\u001b[2J',
    deliveries: 1,
  };
  registrar.publish('rollcall.dead.registrar.1', 'garbage');
  registrar.publish('rollcall.dead.registrar.2', JSON.stringify(letter));
  await registrar.flush();
  const { code, stdout } = await runCli(['dead', 'list', '-o', 'wide', ...busFlags]);
  expect(stdout).toMatch(
    /^ID +TIME +SERVICE +EVENT +STATE +CODE +TRIES +MESSAGE\n2 .* registrar +cluster\.c1\.approved +dead +EVENT_INVALID +1 +no section\[2J\n$/,
  );
  expect(code).toBe(0);
});

test('a service runs in a process of its own and drains at SIGTERM', async () => {
  const settings = hub.serviceSettings('heartbeat');
  const flags = Object.entries(settings).flatMap(([key, value]) => [
    `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    value,
  ]);
  await using cli = startCli(['serve', 'heartbeat', ...flags]);
  await cli.line(/^heartbeat runs/);
  cli.child.kill('SIGTERM');
  expect((await cli.result).code).toBe(0);
});

test('a member that cannot be reached and a hub that is another are both told, each by its check', async () => {
  const kubeconfig = join(hub.stateDir, 'member.kubeconfig');
  const cluster = { server: 'https://127.0.0.1:1' };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'edge-1', cluster }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'edge-1', context: { cluster: 'edge-1', user: 'u' } }],
      'current-context': 'edge-1',
    }),
  );
  const { text } = createRegistrationToken(hub.hub.hubId);
  const pin = `sha256:${'0'.repeat(64)}`;
  const args = ['register', `127.0.0.1:${hub.port}`, '--run', '--ca-cert-hash', pin];
  const { code, stderr } = await runCli([...args, '--member-kubeconfig', kubeconfig], {
    environment: { ROLLCALL_TOKEN: text },
  });
  expect(stderr).toContain(
    `hub: 127.0.0.1:${hub.port}\nmember: https://127.0.0.1:1 (context "edge-1", user "u")`,
  );
  expect(stderr).toContain(`[preflight] ok token: of hub ${hub.hub.hubId}`);
  expect(stderr).toContain('[preflight] failed member-api: cannot reach the API server https://127.0.0.1:1');
  expect(stderr).toContain('[preflight] failed hub-ca: no certificate of the hub has the pinned key');
  expect(stderr).not.toContain(text);
  expect(code).toBe(5);
});

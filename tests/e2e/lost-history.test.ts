import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type BusCredentials, connectBus, streamState } from '@rollcall/shared/bus';
import { clusterRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { rotate } from '../../cli/trust/rotate.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** One hub, stopped, with a cluster that is in, one that has left, and one that is banned; each test loses history in a copy of it. */
const base = mkdtempSync(join(tmpdir(), 'rollcall-lost-'));
const whole = join(base, 'whole');
const older = join(base, 'older');
const stranger = join(base, 'stranger');
const agents = join(base, 'agents');
const backup = join(base, 'hub.backup');
const passphrase = join(base, 'passphrase');
/** As the agent was before it took itself away: somebody has kept a copy. */
const leftBefore = join(base, 'left-before');
let token: string;
let hubId: string;
let leftId: string;
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** Of the NATS server: streams, and beside them the claims with the witness. */
const volume = (stateDir: string) => join(stateDir, 'nats');
const jetstream = (stateDir: string) => join(volume(stateDir), 'jetstream');

async function joinAndStop(hub: TestEmbeddedHub, name: string): Promise<void> {
  const { agent } = await hub.startAgent({ name, token, directory: join(agents, name) });
  await hub.untilReady(name);
  await agent.stop();
}

beforeAll(async () => {
  {
    await using hub = await startTestEmbeddedHub({ stateDir: stranger });
    token = (await hub.createToken({ uses: 'unlimited' })).text;
    for (const name of ['s1', 's2', 's3']) {
      await hub.startAgent({ name, token });
      await hub.untilReady(name);
    }
  }
  {
    await using hub = await startTestEmbeddedHub({ stateDir: whole });
    hubId = hub.up.hub.hubId;
    token = (await hub.createToken({ uses: 'unlimited' })).text;
    for (const name of ['stays', 'banned', 'left']) await joinAndStop(hub, name);
    cpSync(join(agents, 'left'), leftBefore, { recursive: true });
    writeFileSync(passphrase, 'of more than twelve characters');
    const made = await runCli(['backup', backup, '--passphrase-file', passphrase], {
      environment: { ROLLCALL_HOME: whole },
    });
    if (made.code !== 0) throw new Error(made.stderr);
  }
  cpSync(volume(whole), older, { recursive: true });
  {
    await using hub = await startTestEmbeddedHub({ stateDir: whole });
    const { code, stderr } = await runCli([
      'ban',
      'banned',
      '--reason',
      'stolen',
      '--kubeconfig',
      hub.up.plane.adminKubeconfigPath,
    ]);
    if (code !== 0) throw new Error(stderr);
    await until(
      'it is banned',
      async () => conditionOf(await hub.cluster('banned'), 'Accepted')?.status === 'False',
    );
    leftId = (await hub.cluster('left'))?.spec.clusterId ?? '';
    await hub.up.admin.delete(resources.managedClusters, 'left');
    await hub.startAgent({ name: 'left', token, directory: join(agents, 'left') });
    await until('it has left', async () => (await hub.cluster('left')) === undefined);
  }
}, 300_000);

function filesOf(stateDir: string, pattern: RegExp): string[] {
  return readdirSync(jetstream(stateDir), { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => pattern.test(path));
}

function changeBlocks(stateDir: string, how: (data: Buffer) => Buffer): void {
  for (const path of filesOf(stateDir, /EVENTS\/msgs\/\d+\.blk$/))
    writeFileSync(path, how(readFileSync(path)));
}

const flip = (share: number) => (data: Buffer) => {
  const from = Math.floor(data.length * share);
  for (let at = from; at < Math.min(data.length, from + 3000); at++) data[at] = (data[at] ?? 0) ^ 0xff;
  return data;
};
const zero = (share: number) => (data: Buffer) => {
  const from = Math.floor(data.length * share);
  return data.fill(0, from, Math.min(data.length, from + 3000));
};

const losses: Readonly<Record<string, (stateDir: string) => void>> = {
  'the stream is deleted': (stateDir) => {
    for (const path of filesOf(stateDir, /streams\/EVENTS$/)) rmSync(path, { recursive: true });
  },
  'the stream is purged': (stateDir) => {
    for (const path of filesOf(stateDir, /EVENTS\/msgs$/)) rmSync(path, { recursive: true });
  },
  'the tail is cut off': (stateDir) => changeBlocks(stateDir, (data) => data.subarray(0, data.length - 6000)),
  '3,000 bytes are flipped in the front': (stateDir) => changeBlocks(stateDir, flip(0.1)),
  '3,000 bytes are zero in the middle': (stateDir) => changeBlocks(stateDir, zero(0.5)),
  'one byte is flipped near the end': (stateDir) =>
    changeBlocks(stateDir, (data) => {
      const at = Math.floor(data.length * 0.9);
      data[at] = (data[at] ?? 0) ^ 0xff;
      return data;
    }),
  'an older copy of the files is put back': (stateDir) => {
    rmSync(jetstream(stateDir), { recursive: true });
    cpSync(join(older, 'jetstream'), jetstream(stateDir), { recursive: true });
  },
  'the files are those of another hub': (stateDir) => {
    const [own = ''] = filesOf(stateDir, /streams\/EVENTS$/);
    const [theirs = ''] = filesOf(stranger, /streams\/EVENTS$/);
    rmSync(own, { recursive: true });
    cpSync(theirs, own, { recursive: true });
  },
};

async function lastSequence(hub: TestEmbeddedHub): Promise<number> {
  const nc = await connectAsInspector(hub.up.stateDir, hub.up.natsAddress);
  const { lastSequence: last } = await streamState(nc, 'EVENTS');
  await nc.close();
  return last;
}

/** The ports that the hub remembers are kept from others while no hub runs: they are of the addresses that agents know. */
const held: Server[] = [];
async function holdPorts(): Promise<void> {
  const ports = JSON.parse(readFileSync(join(whole, 'ports.json'), 'utf8')) as Record<string, number>;
  for (const port of new Set(Object.values(ports))) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    held.push(server);
  }
}
const freePorts = async () =>
  void (await Promise.all(held.splice(0).map((server) => once(server.close(), 'close'))));
beforeEach(freePorts);
afterEach(holdPorts);
afterAll(freePorts);

function copyOf(stateDir: string): string {
  const copy = mkdtempSync(join(base, 'copy-'));
  cpSync(stateDir, copy, { recursive: true });
  return copy;
}

/** Every service says it, those who were put out and one who was in stay outside, and `status` says how to go on. */
async function expectNobodyGetsIn(hub: TestEmbeddedHub, stateDir: string): Promise<void> {
  for (const service of hub.up.services)
    await expect
      .poll(() => service.notReady(), { timeout: 30_000, message: service.name })
      .toMatch(/^HISTORY_LOST/);
  const before = await lastSequence(hub);
  for (const name of ['banned', 'left', 'stays']) {
    const directory = mkdtempSync(join(base, 'agent-'));
    cpSync(join(agents, name), directory, { recursive: true });
    await hub.startAgent({ name, token, directory });
  }
  cpSync(hub.up.plane.adminKubeconfigPath, join(stateDir, 'kubeconfig'));
  const status = await runCli(['status'], {
    environment: { ROLLCALL_HOME: stateDir },
  });
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(/Not as it should be:\n {2}- the history is lost or cut \(HISTORY_LOST\)/);
  expect(status.stdout).toMatch(/--keep-kubernetes/);
  expect(status.stdout).toMatch(/--accept-loss/);
  const doctor = await runCli(['doctor'], { environment: { ROLLCALL_HOME: stateDir } });
  const verified = await runCli(['verify'], { environment: { ROLLCALL_HOME: stateDir } });
  expect(verified.stderr).toContain('warning: HISTORY_LOST');
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(
    /finding +history lost: the history is lost or cut \(HISTORY_LOST\).*\n +→ .*--accept-loss HUB-ID/,
  );
  expect(await hub.cluster('left')).toBeUndefined();
  expect(conditionOf(await hub.cluster('banned'), 'Ready')?.status).not.toBe('True');
  expect(await lastSequence(hub)).toBe(before);
}

/** Its decision says so, the servers refuse its credentials, and whatever it asks it is told no. */
async function expectLeftIsOut(hub: TestEmbeddedHub): Promise<void> {
  const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id: leftId }));
  expect(decision).toMatchObject({ verdict: 'revoked', reason: 'RestoredFromRevocations' });
  const directory = mkdtempSync(join(base, 'agent-'));
  cpSync(leftBefore, directory, { recursive: true });
  const { phases } = await hub.startAgent({ name: 'left', directory });
  const told = () => phases.map(({ phase, message }) => `${phase}: ${message}`).join('\n');
  await expect.poll(told, { timeout: 60_000 }).toMatch(/refuse|revoked|taken back/i);
  expect(phases.map(({ phase }) => phase)).not.toContain('ready');
  const shown = await until('it is shown as out', async () => hub.cluster('left'));
  expect(conditionOf(shown, 'Accepted')).toMatchObject({ status: 'False' });
  expect(conditionOf(shown, 'Ready')?.status).not.toBe('True');
}

test.each(Object.keys(losses))('%s: nobody gets in, nothing is written, and it is said', async (what) => {
  const stateDir = copyOf(whole);
  losses[what]?.(stateDir);
  await using hub = await startTestEmbeddedHub({ stateDir });
  // From the first moment on.
  for (const service of hub.up.services) expect(service.notReady(), service.name).toMatch(/^HISTORY_LOST/);
  await expectNobodyGetsIn(hub, stateDir);
});

test('what is left is shown as that, and is backed up only for who says so', async () => {
  const stateDir = copyOf(whole);
  losses['the tail is cut off']?.(stateDir);
  await using hub = await startTestEmbeddedHub({ stateDir });
  cpSync(hub.up.plane.adminKubeconfigPath, join(stateDir, 'kubeconfig'));
  const run = (...args: string[]) => runCli(args, { environment: { ROLLCALL_HOME: stateDir } });
  for (const command of [['events'], ['audit'], ['describe', 'cluster', 'stays']]) {
    const shown = await run(...command);
    expect(shown, shown.stderr).toMatchObject({ code: 0 });
    expect(shown.stderr.match(/^warning: HISTORY_LOST: .*$/gm), shown.stderr).toHaveLength(1);
  }
  const target = join(stateDir, 'of-what-is-left.backup');
  const sealed = ['--passphrase-file', passphrase];
  const refused = await run('backup', target, ...sealed);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toMatch(/^code: HISTORY_LOST$/m);
  expect(readdirSync(stateDir).filter((name) => name.includes('.backup'))).toEqual([]);
  expect(await run('backup', target, ...sealed, '--allow-loss')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('warning: HISTORY_LOST'),
  });
});

test('an older copy of the whole volume, with the witness of then: Kubernetes shows what is missing', async () => {
  const stateDir = copyOf(whole);
  rmSync(volume(stateDir), { recursive: true });
  cpSync(older, volume(stateDir), { recursive: true });
  await using hub = await startTestEmbeddedHub({ stateDir });
  await expectNobodyGetsIn(hub, stateDir);
});

test('the stream is lost while the hub runs: nothing needs to be started again to be safe', async () => {
  const stateDir = copyOf(whole);
  await using hub = await startTestEmbeddedHub({ stateDir, keepsNatsRunning: true });
  losses['the stream is deleted']?.(stateDir);
  process.kill(hub.up.natsServer()?.pid ?? 0, 'SIGKILL');
  await expectNobodyGetsIn(hub, stateDir);
});

test('whoever accepts the loss by name goes on in a new epoch, and who was put out stays out', async () => {
  const stateDir = copyOf(whole);
  losses['an older copy of the files is put back']?.(stateDir);
  const options = { environment: { ROLLCALL_HOME: stateDir } };
  expect(await runCli(['restore', '--accept-loss', 'another'], options)).toMatchObject({ code: 3 });
  const accepted = await runCli(['restore', '--accept-loss', hubId], options);
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 2 begins') });
  await using hub = await startTestEmbeddedHub({ stateDir });
  for (const service of hub.up.services)
    await until(`${service.name} is ready`, async () => service.notReady() === undefined);
  const id = (await hub.cluster('banned'))?.spec.clusterId ?? '';
  const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id }));
  expect(decision?.verdict).toBe('banned');
  await hub.startAgent({ name: 'stays', directory: join(agents, 'stays') });
  await hub.untilReady('stays');
  await expectLeftIsOut(hub);
});

test('a restore in the place of a hub keeps out who was put out since, also where nothing shows it any more', async () => {
  const stateDir = copyOf(whole);
  const restored = await runCli(['restore', backup, '--keep-kubernetes', '--passphrase-file', passphrase], {
    environment: { ROLLCALL_HOME: stateDir },
  });
  expect(restored.code, restored.stderr).toBe(0);
  await using hub = await startTestEmbeddedHub({ stateDir });
  for (const service of hub.up.services)
    await until(`${service.name} is ready`, async () => service.notReady() === undefined);
  await hub.startAgent({ name: 'stays', directory: join(agents, 'stays') });
  await hub.untilReady('stays');
  await expectLeftIsOut(hub);
});

test('a stolen projector that says what never was stops the hub until its user is void and the loss accepted, and no longer', async () => {
  const stateDir = copyOf(whole);
  const identity = readFileSync(join(stateDir, 'identities', 'projector.json'), 'utf8');
  const { bus } = JSON.parse(identity) as { bus: BusCredentials };
  {
    await using hub = await startTestEmbeddedHub({ stateDir });
    const thief = await connectBus(hub.up.natsAddress, bus, 'projector');
    const { epoch } = hub.up.hub;
    const lie = { epoch, sequence: 1_000_000, digest: 'sha256:lie' };
    thief.publish('rollcall.history.witnessed', JSON.stringify(lie));
    for (const service of hub.up.services)
      await expect.poll(() => service.notReady(), { timeout: 30_000 }).toMatch(/^HISTORY_LOST/);
    // While nothing is decided and no event is written, users are replaced all the same.
    await rotate('service-keys', {}, stateDir);
    await rotate('service-keys', { now: true }, stateDir);
    const isLetIn = () =>
      connectBus(hub.up.natsAddress, bus, 'projector').then(
        (nc) => nc.close().then(() => true),
        () => false,
      );
    await expect.poll(isLetIn, { timeout: 30_000 }).toBe(false);
    await thief.close();
  }
  const environment = { ROLLCALL_HOME: stateDir };
  expect(await runCli(['restore', '--accept-loss', hubId], { environment })).toMatchObject({ code: 0 });
  await using hub = await startTestEmbeddedHub({ stateDir });
  await expect(connectBus(hub.up.natsAddress, bus, 'projector')).rejects.toMatchObject({
    code: 'BUS_REFUSED',
  });
  for (const service of hub.up.services)
    await until(`${service.name} is ready`, async () => service.notReady() === undefined);
  await hub.startAgent({ name: 'stays', directory: join(agents, 'stays') });
  await hub.untilReady('stays');
});

test('files that are put back are the history again, without a word of anybody', async () => {
  const stateDir = copyOf(whole);
  const kept = join(base, basename(stateDir) + '-kept');
  cpSync(jetstream(stateDir), kept, { recursive: true });
  losses['the stream is purged']?.(stateDir);
  {
    await using hub = await startTestEmbeddedHub({ stateDir });
    expect(hub.up.services[0]?.notReady()).toMatch(/^HISTORY_LOST/);
  }
  rmSync(jetstream(stateDir), { recursive: true });
  cpSync(kept, jetstream(stateDir), { recursive: true });
  await using hub = await startTestEmbeddedHub({ stateDir });
  await hub.startAgent({ name: 'stays', directory: join(agents, 'stays') });
  await hub.untilReady('stays');
});

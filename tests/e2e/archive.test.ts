import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus, handledByAll, streamState } from '@rollcall/shared/bus';
import { clusterRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryUser } from '../../cli/backup/temporary-user.ts';
import { archiveEvents, type HubToArchive } from '../../cli/history/write-archive.ts';
import { type CliResult, runCli } from '../../cli/tests/run-cli.ts';
import { busUser, openHubState } from '../../cli/up/state/hub-state.ts';
import { readOfflineKeys } from '../../cli/up/state/offline-keys.ts';
import { lockState } from '../../cli/up/state/state-lock.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import type { VerifyReport } from '../../cli/verify/verify.ts';
import { startTestEmbeddedHub, type TestAgent, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** One hub whose old events are taken out of the stream, step by step, while it goes on. */
const base = mkdtempSync(join(tmpdir(), 'rollcall-archive-'));
const stateDir = join(base, 'state');
const archives = join(base, 'archives');
const passphraseFile = join(base, 'passphrase');
let hub: TestEmbeddedHub;
let token: string;
const agents = new Map<string, TestAgent>();

async function start(directory = stateDir): Promise<void> {
  hub = await startTestEmbeddedHub({
    stateDir: directory,
    settings: { approver: { bulkPerMinute: '1000' } },
  });
}

beforeAll(async () => {
  mkdirSync(archives);
  writeFileSync(passphraseFile, 'a passphrase of some length');
  await start();
  token = (await hub.createToken({ uses: 'unlimited' })).text;
  for (const name of ['stays', 'leaves', 'revoked']) await comeIn(name);
  for (let times = 0; times < 12; times++) await again('stays');
  await leave('leaves');
}, 300_000);
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

const cli = (...args: string[]): Promise<CliResult> =>
  runCli(args, { directory: base, environment: { ROLLCALL_HOME: stateDir } });

/** As a new cluster, or by the keys that it had. */
async function comeIn(name: string): Promise<void> {
  const directory = join(base, 'agents', name);
  mkdirSync(directory, { recursive: true });
  agents.set(name, await hub.startAgent({ name, token, directory }));
  await hub.untilReady(name);
}

let writes = 0;
/** A person gives it another label, and the hub says so. */
async function again(name: string): Promise<void> {
  const labels = { written: String(++writes) };
  await hub.up.admin.mergePatch(resources.managedClusters, name, { metadata: { labels } });
  const id = (await hub.cluster(name))?.spec.clusterId ?? '';
  await until(`${name} has the label ${writes}`, async () => {
    const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id }));
    return decision?.labels?.['written'] === String(writes);
  });
}

async function leave(name: string): Promise<void> {
  await hub.up.admin.delete(resources.managedClusters, name);
  await until(`${name} has left`, async () => (await hub.cluster(name)) === undefined);
  rmSync(join(base, 'agents', name), { recursive: true });
}

async function withInspector<Result>(work: (nc: NatsConnection) => Promise<Result>): Promise<Result> {
  const nc = await connectAsInspector(hub.up.stateDir, hub.up.natsAddress);
  return work(nc).finally(() => nc.close());
}
const size = () => withInspector((nc) => streamState(nc, 'EVENTS'));
const missing = ({ messages, lastSequence }: { messages: number; lastSequence: number }) =>
  lastSequence - messages;

/** Everything that happened so far is old, as in a year from now. */
async function archive(change: (nc: NatsConnection) => NatsConnection = (nc) => nc, directory = archives) {
  await withInspector((nc) =>
    until('all is handled', async () => (await handledByAll(nc)) === Number.POSITIVE_INFINITY),
  );
  const state = openHubState(stateDir, Date.now());
  const user = temporaryUser(stateDir, state, 'archive');
  const nc = await connectBus(hub.up.natsAddress, user, 'archive');
  const { hubId, epoch } = state;
  const toArchive: HubToArchive = { nc: change(nc), hubId, epoch };
  const nowMs = Date.now() + 365 * 86_400_000;
  const how = { directory, olderThanMs: nowMs, nowMs, operator: 'a test' };
  return archiveEvents(toArchive, how).finally(() => nc.close());
}

/** As if it were killed after some deletions. */
function killedAfter(deletions: number): (nc: NatsConnection) => NatsConnection {
  let count = 0;
  return (nc) =>
    new Proxy(nc, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          const isDeletion = name === 'request' && String(args[0]).includes('.MSG.DELETE.');
          if (isDeletion && ++count > deletions) return Promise.reject(new Error('killed'));
          return Reflect.apply(value, target, args);
        };
      },
    });
}

async function expectAllReady(): Promise<void> {
  for (const service of hub.up.services)
    await until(`${service.name} is ready`, async () => service.notReady() === undefined);
}

async function verify(...more: string[]): Promise<VerifyReport> {
  const { code, stdout, stderr } = await cli('verify', '-o', 'json', ...more);
  const report = JSON.parse(stdout || '{}') as VerifyReport;
  expect({ code, findings: report.findings, stderr }).toMatchObject({ code: 0, findings: [] });
  return report;
}

const files = () => readdirSync(archives).filter((name) => name.endsWith('.archive'));
const flagsOfFiles = () => files().flatMap((name) => ['--archive', join(archives, name)]);

test('what nobody may ask for is refused, and a dry run changes nothing', async () => {
  expect(await cli('history', 'archive', '--older-than', '3d', '--dry-run')).toMatchObject({ code: 2 });
  expect(await cli('history', 'archive', '--older-than', '4d', '--dry-run')).toMatchObject({ code: 0 });
  expect(await cli('history', 'archive')).toMatchObject({ code: 2 });
  expect(await cli('history', 'archive', '--to', join(base, 'nowhere'))).toMatchObject({ code: 2 });
  const { code, stdout } = await cli('history', 'archive', '--dry-run');
  expect({ code, stdout }).toEqual({ code: 0, stdout: '0 events up to 0 would be archived\n' });
  expect(missing(await size())).toBe(0);
});

test('a second run on this machine is refused', async () => {
  const unlock = lockState(stateDir, 'archive.lock');
  const refused = await cli('history', 'archive', '--dry-run');
  unlock();
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('STATE_IN_USE') });
});

test('killed half-way, the hub goes on, and the next run deletes the rest by the same file', async () => {
  const before = await size();
  await expect(archive(killedAfter(5))).rejects.toThrow('killed');
  const half = await size();
  expect(missing(half)).toBeGreaterThan(0);
  const [file = ''] = files();
  expect(files()).toHaveLength(1);
  // Each service compares with the witness when it starts.
  await hub[Symbol.asyncDispose]();
  await start();
  await comeIn('stays');
  await again('stays');
  await expectAllReady();
  await verify();
  await expect(archive()).rejects.toMatchObject({ code: 'APPEND_CONFLICT' });
  expect(await cli('history', 'archive', '--to', base)).toMatchObject({ code: 2 });

  const done = await cli('history', 'archive', '--to', archives);
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining(file) });
  const after = await size();
  expect(missing(after)).toBeGreaterThan(missing(half));
  expect(after.bytes).toBeLessThan(before.bytes);
  // Nothing is left to do, and nothing is deleted twice.
  expect((await cli('history', 'archive', '--to', archives)).stdout).toMatch(
    /^nothing of before .* may go; nothing was changed/,
  );
});

test('the history is whole with its archive, says without it how much is elsewhere, and people are told', async () => {
  const { archived } = await verify();
  expect(archived).toBe(missing(await size()));
  expect((await verify(...flagsOfFiles())).archived).toBe(0);
  const audit = await cli('audit');
  expect(audit.stdout).toContain('hub.archived');
  expect(audit.stderr).toContain(`${archived} are in archives`);
  expect((await cli('events')).stderr).toContain(`${archived} are in archives`);
  const foreign = join(base, 'foreign.archive');
  writeFileSync(foreign, 'garbage');
  expect(await cli('verify', '--archive', foreign)).toMatchObject({ code: 1 });
});

test('after a restart clusters come, come back, leave and are put out, and a second archive follows the first', async () => {
  await hub[Symbol.asyncDispose]();
  await start();
  for (const name of ['stays', 'leaves', 'comes']) await comeIn(name);
  await leave('leaves');
  const id = (await hub.cluster('revoked'))?.spec.clusterId ?? '';
  const decisionOf = async () => clusterRecord(await hub.log.read({ kind: 'cluster', id })).decision;
  const by = 'rollcall-admin';
  const fingerprint = keyFingerprint((await decisionOf())?.approvedKey ?? '');
  const operation = { id: 'out', verb: 'Revoke', keyFingerprint: fingerprint, by };
  await hub.up.admin.mergePatch(resources.managedClusters, 'revoked', { spec: { operation } });
  await until('it is revoked', async () => (await decisionOf())?.verdict === 'revoked');

  // From two machines at once: only one of them deletes.
  const before = await size();
  const elsewhere = mkdtempSync(join(base, 'elsewhere-'));
  const runs = await Promise.allSettled([archive(), archive(undefined, elsewhere)]);
  const [done, ...more] = runs.filter((run) => run.status === 'fulfilled');
  expect(more).toEqual([]);
  expect(runs.find((run) => run.status === 'rejected')?.reason).toMatchObject({ code: 'APPEND_CONFLICT' });
  expect(missing(await size())).toBe(missing(before) + (done?.value?.events ?? 0));
  if (runs[0].status === 'rejected') {
    for (const name of files().slice(1)) rmSync(join(archives, name));
    for (const name of readdirSync(elsewhere)) renameSync(join(elsewhere, name), join(archives, name));
  }
  await again('stays');
  await expectAllReady();
  expect(files()).toHaveLength(2);
  expect((await verify(...flagsOfFiles())).archived).toBe(0);
});

test('a backup of it is restored with the same history, and goes on', async () => {
  const backup = join(base, 'hub.backup');
  expect(await cli('backup', backup, '--passphrase-file', passphraseFile)).toMatchObject({ code: 0 });
  await Promise.allSettled([...agents.values()].map(({ agent }) => agent.stop()));
  await hub.up.stop();
  const options = ['--passphrase-file', passphraseFile, '--keep-kubernetes'];
  expect(await cli('restore', backup, ...options)).toMatchObject({ code: 0 });
  const { archived } = { archived: await restoredMissing() };
  expect(archived).toBeGreaterThan(0);
  await comeIn('stays');
  await expectAllReady();
  expect((await verify()).archived).toBe(archived);
  expect((await verify(...flagsOfFiles())).archived).toBe(0);
  // Also the next archive, of the new epoch.
  await again('stays');
  const report = await archive();
  expect(missing(await size())).toBe(archived + (report?.events ?? 0));
  await again('stays');
  await expectAllReady();
});

async function restoredMissing(): Promise<number> {
  await hub[Symbol.asyncDispose]();
  await start();
  return missing(await size());
}

test('one more event that is deleted by hand is missed, and nothing is decided any more', async () => {
  const keys = openHubState(stateDir, Date.now()).keys;
  const signer = nkeyFromSeed(readOfflineKeys(stateDir).signers.hub);
  const role = {
    account: 'HUB',
    description: 'a thief',
    publish: ['>'],
    subscribe: ['_INBOX_thief.>'],
  } as const;
  const nc = await connectBus(
    hub.up.natsAddress,
    busUser(role, 'thief', { keys, signer }, Date.now()),
    'thief',
  );
  const events = await Array.fromAsync(hub.log.scan({ filter: 'cluster.*.approved' }));
  const { sequence } = events[0] ?? { sequence: 0 };
  const answer = await nc.request('$JS.API.STREAM.MSG.DELETE.EVENTS', JSON.stringify({ seq: sequence }));
  expect(answer.json()).toMatchObject({ success: true });
  await nc.close();
  for (const service of hub.up.services)
    await expect
      .poll(() => service.notReady(), { timeout: 30_000, message: service.name })
      .toMatch(/^HISTORY_LOST/);
  const { findings } = JSON.parse((await cli('verify', '-o', 'json')).stdout) as VerifyReport;
  expect(findings.map(({ code }) => code)).toContain('EventsMissing');
});

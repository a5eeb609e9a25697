import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { clusterRecord, epochAggregate, epochRecord, type StoredEvent } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/**
 * Who restores is stopped in the middle, by SIGKILL: the command at several points, then the hub that it made, before it has
 * looked at what Kubernetes shows.
 */
const base = mkdtempSync(join(tmpdir(), 'rollcall-interrupted-'));
const stateDir = join(base, 'state');
const restoring = join(stateDir, 'restoring');
const backupFile = join(base, 'hub.backup');
const passphraseFile = join(base, 'passphrase');
const restoreArgs = ['restore', backupFile, '--passphrase-file', passphraseFile, '--keep-kubernetes'];
const options = { directory: base, environment: { ROLLCALL_HOME: stateDir } };
let hub: TestEmbeddedHub | undefined;
let agents: TestEmbeddedHub;

beforeAll(async () => {
  writeFileSync(passphraseFile, 'a passphrase of some length\n');
  hub = agents = await startTestEmbeddedHub({ stateDir });
  const { text: token } = await hub.createToken({ uses: 'unlimited' });
  for (const name of ['stays', 'revoked']) {
    await hub.startAgent({ name, token });
    await hub.untilReady(name);
  }
  await runCli(['backup', backupFile, '--passphrase-file', passphraseFile], options);
  const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id: 'revoked' }));
  const operation = {
    id: 'w1',
    verb: 'Revoke',
    keyFingerprint: keyFingerprint(decision?.approvedKey ?? ''),
    by: 'rollcall-admin',
  };
  await hub.up.admin.mergePatch(resources.managedClusters, 'revoked', { spec: { operation } });
  await until('it is shown as revoked', async () => {
    return conditionOf(await hub?.cluster('revoked'), 'Accepted')?.status === 'False';
  });
  await hub.up.stop();
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await agents?.[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

const epochThere = () =>
  existsSync(join(stateDir, 'hub.json'))
    ? (JSON.parse(readFileSync(join(stateDir, 'hub.json'), 'utf8')) as { epoch: number }).epoch
    : undefined;
/** Asked without a pause: some of it lasts less than a millisecond. */
async function onceSo(isSo: () => boolean, isOver: () => boolean): Promise<void> {
  while (!isSo() && !isOver()) await nextTurn();
}
/** Servers that were started for a directory, whoever lives on. */
function serversOf(directory: string): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return /^\S*nats-server /.test(command) && command.includes(directory) ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });
}
const storeHas = (pattern: RegExp) => {
  try {
    const streams = join(restoring, 'nats', 'jetstream');
    return readdirSync(streams, { recursive: true }).some((name) => pattern.test(String(name)));
  } catch {
    // Not there yet, or a part of it moved away while it was read.
    return false;
  }
};

/** @returns false where the command ended before that moment was seen */
async function wasKilledWhen(isSo: () => boolean): Promise<boolean> {
  const command = startCli(restoreArgs, options);
  let hasEnded = false;
  void command.result.then(() => (hasEnded = true));
  await onceSo(isSo, () => hasEnded);
  if (hasEnded) return false;
  command.child.kill('SIGKILL');
  await command.result;
  return true;
}

describe('the command is killed', () => {
  test.each<{ when: string; isSo: () => boolean }>([
    { when: 'it has begun', isSo: () => existsSync(restoring) },
    { when: 'the keys are written', isSo: () => existsSync(join(restoring, 'identities', 'setup.json')) },
    { when: 'its server runs', isSo: () => existsSync(join(restoring, 'run', 'nats-server.json')) },
    { when: 'events are being written', isSo: () => storeHas(/EVENTS.*\.blk$/) },
    { when: 'consumers are being made', isSo: () => storeHas(/EVENTS.*approver/) },
    {
      when: 'the hub that was there is being moved aside',
      isSo: () => readdirSync(stateDir).some((name) => name.startsWith('before-restore-')),
    },
  ])('when $when: the hub that was there, or none, and the next restore succeeds', async ({ isSo }) => {
    let before = epochThere();
    // On a busy machine it may be over before anybody has looked.
    for (let tries = 1; !(await wasKilledWhen(isSo)); tries++) {
      expect(tries, 'it ended before').toBeLessThan(5);
      before = epochThere();
    }

    const left = epochThere();
    // Neither hub is whole there: nothing starts, instead of a new one beginning.
    const up = left === undefined ? await runCli(['up'], options) : undefined;
    expect(up?.stderr ?? 'code: RESTORE_UNFINISHED').toContain('code: RESTORE_UNFINISHED');
    const again = await runCli(restoreArgs, options);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('begins') });
    expect(epochThere()).toBeGreaterThan(left ?? before ?? 0);
    expect(existsSync(restoring)).toBe(false);
    expect(serversOf(stateDir)).toEqual([]);
  });
});

async function reviewedHistory(log: TestEmbeddedHub['log']): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of log.scan({})) events.push(event);
  const begun = events.findLastIndex(({ type }) => type === 'restored');
  const reviewed = events.findLastIndex(({ type }) => type === 'restore-reviewed');
  return events.slice(begun + 1, reviewed);
}

test('the restored hub is killed before it has looked: the next start does it, and decides nothing before', async () => {
  const run = startCli(['up'], options);
  // The store is written to from here on; the API server, and with it the review, takes seconds.
  await run.line(/starting NATS/);
  // A server that is not noted yet, for less than a millisecond, is one that nobody ends.
  await onceSo(
    () => serversOf(stateDir).length > 0 && existsSync(join(stateDir, 'run', 'nats-server.json')),
    () => false,
  );
  run.child.kill('SIGKILL');
  await run.result;

  hub = await startTestEmbeddedHub({ stateDir });
  const { restored, isReviewed } = epochRecord(await hub.log.read(epochAggregate));
  expect(restored?.epoch).toBe(epochThere());
  expect(isReviewed).toBe(true);
  const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id: 'revoked' }));
  expect(decision).toMatchObject({ verdict: 'revoked', reason: 'RestoredFromProjection' });
  const before = await reviewedHistory(hub.log);
  const said = before.filter(({ definition }) => definition.writer === 'approver');
  expect(said.map(({ reason }) => reason)).toContain('RestoredFromProjection');
  expect(said.filter(({ reason }) => !reason.startsWith('Restored'))).toEqual([]);
  await hub.untilReady('stays');
  await until('it is what the events say', async () => (await runCli(['verify'], options)).code === 0);
});

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterRecord, epochAggregate, epochRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { afterAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { fixturePassphrase } from '../fixtures/fixture-passphrase.ts';
import { conditionOf, startTestEmbeddedHub, until } from '../harness/embedded.ts';

/** Backups that earlier versions made (tests/fixtures/README.md): each must come back with this one. */
const backups = join(import.meta.dirname, '..', 'fixtures', 'backups');
const base = mkdtempSync(join(tmpdir(), 'rollcall-older-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

test.each(readdirSync(backups))('%s is restored, found whole, and goes on', async (name) => {
  const stateDir = mkdtempSync(join(base, 'hub-'));
  const passphraseFile = join(base, 'passphrase');
  writeFileSync(passphraseFile, `${fixturePassphrase}\n`);
  const options = { directory: base, environment: { ROLLCALL_HOME: stateDir } };
  const made = await runCli(['restore', join(backups, name), '--passphrase-file', passphraseFile], options);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 2 begins') });
  // It was another machine's, where it was free.
  rmSync(join(stateDir, 'ports.json'), { force: true });

  await using hub = await startTestEmbeddedHub({ stateDir });
  expect(epochRecord(await hub.log.read(epochAggregate))).toMatchObject({
    restored: { epoch: 2 },
    isReviewed: true,
  });
  const recordOf = async (id: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id }));
  expect((await recordOf('member')).decision).toMatchObject({ verdict: 'approved' });
  expect((await recordOf('banned')).decision).toMatchObject({ verdict: 'banned', reason: 'PersonBanned' });
  const shown = async (cluster: string) => conditionOf(await hub.cluster(cluster), 'Accepted')?.status;
  await until('the member is shown as let in', async () => (await shown('member')) === 'True');
  await until('the banned one is shown so', async () => (await shown('banned')) === 'False');
  await until('held is held', async () => (await hub.request('held'))?.status?.result === 'Held');
  expect((await hub.cluster('beforehand'))?.metadata).toMatchObject({ labels: { tier: 'gold' } });
  expect((await hub.log.read({ kind: 'policy', id: 'hold-some' })).head).toBeDefined();
  await until('it is what the events say', async () => (await runCli(['verify'], options)).code === 0);

  // The name that the harness gives to its first token, there as here; the old one is void.
  await hub.up.admin.delete(resources.clusterRegistrationTokens, 'test-0', { namespace: 'rollcall-join' });
  await hub.startAgent({ name: 'newcomer', token: (await hub.createToken()).text });
  await hub.untilReady('newcomer');
});

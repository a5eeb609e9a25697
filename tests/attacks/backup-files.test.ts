import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createXkey } from '@rollcall/shared/trust';
import { afterAll, expect, test } from 'vitest';
import { type BackupHeader, formatVersion, type Sealing } from '../../cli/backup/backup-format.ts';
import { openerOf } from '../../cli/backup/open-backup.ts';
import { checkBackup } from '../../cli/backup/read-backup.ts';
import { newSealing, sealKeys } from '../../cli/backup/encrypt-keys.ts';
import { createBackupFile } from '../../cli/backup/write-backup.ts';
import { runCli } from '../../cli/tests/run-cli.ts';

/** A file that somebody laid in the place of a backup, whole by every digest in it: whoever writes one makes these too. */
const folder = mkdtempSync(join(tmpdir(), 'rollcall-forged-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hubId = '0123456789abcdef';
let count = 0;

async function forge(
  sealing: Sealing,
  { objects = [], keys }: { objects?: readonly object[]; keys?: (contentDigest: string) => object },
): Promise<string> {
  const path = join(folder, `forged-${count++}.backup`);
  const file = createBackupFile(path);
  const header: BackupHeader = {
    rollcallBackup: formatVersion,
    rollcallVersion: '0.1.0',
    hubId,
    epoch: 1,
    takenAtMs: 1_800_000_000_000,
    throughSequence: 0,
    handled: {},
    sealing,
  };
  await file.write(header);
  for (const object of objects) await file.write({ object });
  if (keys) await file.write({ keys: keys(file.contentDigest()) });
  await file.end();
  return path;
}

const binding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'mine' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' }],
};

test.each([
  { name: 'a binding to cluster-admin', object: binding },
  { name: 'a Secret', object: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'n' } } },
  {
    name: 'one under the name of a kind of ours',
    object: { ...binding, kind: 'ManagedCluster' },
  },
])('an object that no backup has is not made with all rights: $name', async ({ object }) => {
  const path = await forge({ kind: 'without-keys' }, { objects: [object] });
  await expect(checkBackup(path)).rejects.toMatchObject({ code: 'BACKUP_INVALID' });
  const printed = await runCli(['restore', path, '--objects']);
  expect(printed.code).not.toBe(0);
  expect(printed.stdout).toBe('');
});

test.each([
  { name: 'a passphrase', flags: { passphraseFile: 'passphrase' } },
  { name: 'a key', flags: { keyFile: 'key' } },
])('who gives $name takes no file that nothing seals for the backup', async ({ flags }) => {
  const { header } = await checkBackup(await forge({ kind: 'without-keys' }, {}));
  await expect(openerOf(header, flags, folder)).rejects.toMatchObject({ code: 'BACKUP_LOCKED' });
});

test('who gives a passphrase takes no file that is sealed to a key, which anybody can seal', async () => {
  const sealing = newSealing({ kind: 'key', recipient: createXkey().publicKey });
  const { header } = await checkBackup(await forge(sealing, { keys: () => anySealed }));
  const flags = { passphraseFile: 'passphrase' };
  await expect(openerOf(header, flags, folder)).rejects.toMatchObject({ code: 'BACKUP_LOCKED' });
});
const anySealed = { nonce: '', sealed: 'AAAA', sender: 'X' };

test('the keys of another hub are not put in the place of the one that the file names', async () => {
  const key = createXkey();
  const by = { kind: 'key', recipient: key.publicKey } as const;
  const sealing = newSealing(by);
  const files = {
    'hub.json': JSON.stringify({ hubId: 'fedcba9876543210' }),
    'identities/registrar.json': '{}',
    'identities/account-controller.json': '{}',
  };
  const path = await forge(sealing, {
    keys: (contentDigest) => sealKeys({ contentDigest, files }, sealing, by),
  });
  const backup = await checkBackup(path);
  expect(() => backup.open({ kind: 'key', seed: key.seed })).toThrow(/are not those of hub/);
  expect(existsSync(join(folder, 'hub.json'))).toBe(false);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lineOf } from './backup.ts';
import { checkBackup } from './read-backup.ts';
import { createBackupFile } from './write-backup.ts';

/** A backup that anybody can write: nothing seals it. */
async function backupWith(sequences: readonly number[]): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-backup-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'a.backup');
  const file = createBackupFile(path);
  await file.write({
    rollcallBackup: 1,
    rollcallVersion: '0.1.0',
    hubId: 'hub',
    epoch: 1,
    takenAtMs: 0,
    throughSequence: Math.max(...sequences),
    handled: {},
    sealing: { kind: 'without-keys' },
  });
  for (const sequence of sequences) {
    const message = {
      sequence,
      subject: 'rollcall.events.hub.a.b',
      timeMs: 0,
      headers: {},
      data: new Uint8Array(),
    };
    await file.write(lineOf('EVENTS', message));
  }
  await file.end();
  return path;
}

test('events that follow each other are read', async () => {
  expect((await checkBackup(await backupWith([1, 3]))).events).toBe(2);
});

test.each([{ sequences: [2, 1] }, { sequences: [1, 1] }])(
  'events in the order $sequences are refused before anything is stopped for them',
  async ({ sequences }) => {
    await expect(checkBackup(await backupWith(sequences))).rejects.toMatchObject({ code: 'BACKUP_INVALID' });
  },
);

test('more missing events than could be filled are refused before anything is stopped for them', async () => {
  expect((await checkBackup(await backupWith([1, 50_000_000]))).events).toBe(2);
  await expect(checkBackup(await backupWith([1, 9_000_000_000]))).rejects.toMatchObject({
    code: 'BACKUP_INVALID',
  });
});

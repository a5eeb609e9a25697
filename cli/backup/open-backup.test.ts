import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createXkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import type { BackupHeader } from './backup-format.ts';
import { openerOf } from './open-backup.ts';

const { publicKey: recipient } = createXkey();

test('a key file that is not there is a mistake of who names it', async () => {
  const header = { sealing: { kind: 'key', recipient } } as BackupHeader;
  const keyFile = join(tmpdir(), 'no-such-directory', 'key');
  await expect(openerOf(header, { keyFile }, tmpdir())).rejects.toMatchObject({
    code: 'USAGE',
    message: `cannot read the file "${keyFile}"`,
  });
});

import { existsSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';
import { createXkey } from '@rollcall/shared/trust';
import { printResult, say } from '../terminal/output.ts';
import { writePrivate } from '../up/private-files.ts';

/** A key that backups are sealed to: its secret half belongs elsewhere than on the hub. */
export function makeKey(path: string): void {
  if (existsSync(path)) throw new RollcallError('BACKUP_EXISTS', `the file "${path}" is there already`);
  const key = createXkey();
  writePrivate(path, `${key.seed}\n`);
  say(`keep "${path}" away from the hub: without it no backup that was sealed to this key can be opened`);
  printResult(key.publicKey);
}

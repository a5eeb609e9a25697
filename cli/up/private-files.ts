import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * Writes a file that only its owner may read, whole or not at all: a killed process leaves the old one.
 * @throws RollcallError DISK_FULL
 */
export function writePrivate(path: string, text: string): void {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(draft, 'w', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOSPC') {
      throw new RollcallError('DISK_FULL', `no space left to write "${path}"`, { cause });
    }
    throw cause;
  }
}

/**
 * Reads a JSON file of the state directory.
 * @returns undefined when there is none
 * @throws RollcallError STATE_INVALID when it is half-written or damaged
 */
export function readState<Shape>(path: string): Shape | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cause;
  }
  try {
    return JSON.parse(text) as Shape;
  } catch {
    // No cause: the parser's message quotes the file, which holds keys.
    throw new RollcallError('STATE_INVALID', `"${path}" is damaged`);
  }
}

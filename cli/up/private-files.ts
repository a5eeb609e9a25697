import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';

/** A name in a directory lasts once the directory is on disk. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Opens a new file that only its owner may read. What stands there under its name goes: it is of a process that was killed, or a
 * symbolic link that somebody laid there, which is never followed.
 * @returns the file descriptor
 */
export function openPrivate(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, 'wx', 0o600);
}

/**
 * Writes a file that only its owner may read, whole or not at all: a killed process leaves the old one.
 * @throws RollcallError DISK_FULL
 */
export function writePrivate(path: string, text: string): void {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openPrivate(draft);
    try {
      // A single write may end in the middle of the text where the disk is nearly full, and say so by its count alone.
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
    syncDirectory(dirname(path));
  } catch (cause) {
    rmSync(draft, { force: true });
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

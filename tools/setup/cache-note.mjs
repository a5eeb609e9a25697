import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupError } from './setup-error.mjs';

/**
 * What lies beside each program of the cache: its SHA-256 when it was verified or built, and by what the system would tell that
 * the file was touched since. The time of change (ctime) is the system's own: who writes a file cannot set it back.
 *
 * @typedef {{ sha256: string, touched: string }} Note
 */

/** @param {string} path */
const noteOf = (path) => join(dirname(path), '.sha256.json');

/** @param {string} path */
function touchedOf(path) {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/**
 * @param {string} path
 * @returns {string} lower-case hex
 */
function digestOf(path) {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(1 << 20);
  const file = openSync(path, 'r');
  try {
    for (let length; (length = readSync(file, chunk)) > 0;) hash.update(chunk.subarray(0, length));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/**
 * Notes what a program is that was just verified or built.
 * @param {string} path
 */
export function noteDigest(path) {
  writeNote(path, digestOf(path));
}

/**
 * @param {string} path
 * @param {string} sha256
 */
const writeNote = (path, sha256) =>
  writeFileSync(noteOf(path), `${JSON.stringify({ sha256, touched: touchedOf(path) })}\n`);

/**
 * Whether a program of the cache is still what was noted. It is read again only if the system says that it was touched. One
 * without a note is of a set-up from before there were any: it is noted as it is.
 * @param {string} path - exists
 */
export function isAsNoted(path) {
  const note = readNote(path);
  if (note?.touched === touchedOf(path)) return true;
  const sha256 = digestOf(path);
  if (note !== undefined && note.sha256 !== sha256) return false;
  try {
    writeNote(path, sha256);
  } catch {
    // A cache that may only be read, as in an image: it is read again the next time.
  }
  return true;
}

/**
 * @param {string} path
 * @returns {Note | undefined}
 */
function readNote(path) {
  let text;
  try {
    text = readFileSync(noteOf(path), 'utf8');
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return { sha256: 'not to be read', touched: '' };
  }
}

/**
 * Whoever may write into the cache decides what runs, and can change what is noted there as well.
 * @param {readonly string[]} folders
 * @throws SetupError for a folder of somebody else, or one that others may write to
 */
export function checkOnlyOurs(folders) {
  const uid = process.geteuid?.();
  const gid = process.getegid?.();
  if (uid === undefined) return;
  for (const folder of folders) {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    const isOpen = (stats.mode & 0o002) !== 0 || ((stats.mode & 0o020) !== 0 && stats.gid !== gid);
    if ((stats.uid === uid || stats.uid === 0) && !isOpen) continue;
    const why = isOpen ? 'others may write there' : `it is of somebody else (user ${stats.uid})`;
    throw new SetupError(
      `programs are not taken from "${folder}": ${why}. What to do: chmod go-w '${folder}', or set ROLLCALL_CACHE to a folder of yours.`,
    );
  }
}

import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkOnlyOurs, isAsNoted } from './cache-note.mjs';
import { foldersOnTheWay, pathInCache } from './cache-folder.mjs';

/**
 * What set-up found or made, so that a second run and the CLI need not ask every program for its version again.
 *
 * @typedef {import('./pinned-tools.mjs').ToolName} ToolName
 * @typedef {object} Entry
 * @property {string} path
 * @property {string} version
 * @property {string} from - where it came from, see `Found`
 * @property {string} pinned - the version that was pinned when this was written
 * @property {number} sizeBytes - with `mtimeMs`: whether the file is still the one whose version was asked
 * @property {number} mtimeMs
 * @typedef {Partial<Record<ToolName, Entry>>} ProgramRecord
 */

/** Under node_modules: belongs to this checkout, is ignored by git, and goes with what it was made for. */
export const recordFile = fileURLToPath(
  new URL('../../node_modules/.rollcall-binaries.json', import.meta.url),
);

/**
 * @param {string} [file]
 * @returns {ProgramRecord} empty when there is none, or none that can be read: set-up then looks again
 */
export function readRecord(file = recordFile) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

/**
 * @param {ProgramRecord} record
 * @param {string} [file]
 */
export function writeRecord(record, file = recordFile) {
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = join(dirname(file), `.rollcall-binaries.${process.pid}`);
  writeFileSync(unfinished, `${JSON.stringify(record, undefined, 2)}\n`);
  renameSync(unfinished, file);
}

/**
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {import('./find-program.mjs').Found} found
 * @returns {Entry}
 */
export function entryFor(tool, found) {
  const { size, mtimeMs } = statSync(found.path);
  return { ...found, pinned: tool.version, sizeBytes: size, mtimeMs };
}

/**
 * Whether a recorded program is still the one that the order of ways would give: same pin, same file, and the
 * environment names it exactly if it did then.
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {Entry | undefined} entry
 * @param {{ env: NodeJS.ProcessEnv, cache: string }} place
 * @returns {entry is Entry}
 */
export function isCurrent(tool, entry, { env, cache }) {
  if (entry === undefined || entry.pinned !== tool.version) return false;
  const explicit = env[tool.env] || undefined;
  if ((entry.from === 'environment' ? entry.path : undefined) !== explicit) return false;
  const isOurs = entry.from !== 'environment' && entry.from !== 'PATH';
  if (isOurs && entry.path !== pathInCache(cache, tool)) return false;
  const file = statSync(entry.path, { throwIfNoEntry: false });
  if (file === undefined || file.size !== entry.sizeBytes || file.mtimeMs !== entry.mtimeMs) return false;
  if (!isOurs) return true;
  checkOnlyOurs(foldersOnTheWay(cache, tool));
  return isAsNoted(entry.path);
}

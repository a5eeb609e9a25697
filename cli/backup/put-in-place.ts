import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { shellWord } from '@rollcall/shared/hub';
import { isHalfRestored, movedAsidePrefix, restoringDirectory } from '../up/state/half-restored.ts';
import { natsPorts } from '../up/state/nats-servers-of.ts';

/** What stays where it is while a hub is put in the place of another. */
const staying = new Set(['kubernetes', 'up.lock', restoringDirectory]);
const isMovedAside = (name: string) => name.startsWith(movedAsidePrefix);

/** @throws RollcallError STATE_NOT_EMPTY, USAGE */
export function checkRoom(stateDir: string, keepKubernetes: boolean): void {
  const found = existsSync(stateDir) ? readdirSync(stateDir) : [];
  const inTheWay = found.filter(
    (name) => name !== 'up.lock' && name !== restoringDirectory && !isMovedAside(name),
  );
  if (keepKubernetes && found.includes('hub.json') && natsPorts(stateDir).length === 0) {
    throw new RollcallError(
      'USAGE',
      `"${stateDir}" has the keys of a hub whose history is in a cluster: give it as --keys`,
    );
  }
  // What an interrupted restore left is no hub: it is put aside.
  if (keepKubernetes || inTheWay.length === 0 || isHalfRestored(stateDir)) return;
  throw new RollcallError(
    'STATE_NOT_EMPTY',
    `"${stateDir}" has a hub already (${inTheWay.slice(0, 3).join(', ')} …)`,
  );
}

/** Kept means on disk: file by file once, and not at each of ten thousands of appends. */
export function syncFiles(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const fd = openSync(join(entry.parentPath, entry.name), 'r');
    fsyncSync(fd);
    closeSync(fd);
  }
}

/** @returns where the hub that was there is now */
export function putInPlace(directory: string, stateDir: string): string | undefined {
  const before = readdirSync(stateDir).filter((name) => !staying.has(name) && !isMovedAside(name));
  const movedTo = join(stateDir, `before-restore-${new Date().toISOString().replaceAll(':', '')}`);
  if (before.length > 0) mkdirSync(movedTo, { mode: 0o700 });
  // First the file that says that there is a hub: who is stopped from here on leaves none, and that is seen.
  for (const name of before.toSorted((a, b) => Number(b === 'hub.json') - Number(a === 'hub.json')))
    renameSync(join(stateDir, name), join(movedTo, name));
  // And last here.
  const notOfTheHub = new Set(['logs', 'run', 'restore-ports.json', 'hub.json']);
  const names = readdirSync(directory).filter((name) => !notOfTheHub.has(name));
  for (const name of [...names, 'hub.json']) renameSync(join(directory, name), join(stateDir, name));
  rmSync(directory, { recursive: true, force: true });
  return before.length > 0 ? movedTo : undefined;
}

/**
 * What starts the hub of a state directory, to be pasted: `rollcall up` itself is given none.
 * @param stateDir - as a person gave it; undefined: the one that every command takes
 */
export function startHint(stateDir: string | undefined): string {
  return stateDir === undefined ? '`rollcall up`' : `\`ROLLCALL_HOME=${shellWord(stateDir)} rollcall up\``;
}

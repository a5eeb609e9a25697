import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { processIdentity } from '../process/child-process-identity.ts';
import { readState } from '../private-files.ts';

interface Holder {
  readonly pid: number;
  readonly identity: string | undefined;
}

/**
 * Keeps a second `up` out of the state directory. The lock of a killed run does not count: its process is gone.
 * @param name - of the lock, where it is for something else
 * @returns how to give the lock back
 * @throws RollcallError STATE_IN_USE naming the process that has it
 */
export function lockState(stateDir: string, name = 'up.lock'): () => void {
  const path = join(stateDir, name);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const me: Holder = { pid: process.pid, identity: processIdentity(process.pid) };
  const draft = `${path}.${process.pid}`;
  try {
    rmSync(draft, { force: true });
    writeFileSync(draft, JSON.stringify(me), { flag: 'wx', mode: 0o600 });
    removeAbandoned(path, `${draft}.former`);
    // It is there with its text: one without would be taken for that of a killed run.
    linkSync(draft, path);
    return () => rmSync(path, { force: true });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    const by = readHolder(path);
    const who = by === undefined || by === 'unreadable' ? 'another process' : `process ${by.pid}`;
    throw new RollcallError('STATE_IN_USE', `"${stateDir}" is used by ${who}`);
  } finally {
    rmSync(draft, { force: true });
  }
}

const isAbandoned = (holder: Holder | 'unreadable' | undefined): boolean =>
  holder === 'unreadable' ||
  (holder !== undefined && (holder.pid === process.pid || processIdentity(holder.pid) !== holder.identity));

/** @param aside - where it lies while it is looked at once more: another may have put its own in its place meanwhile */
function removeAbandoned(path: string, aside: string): void {
  try {
    if (!isAbandoned(readHolder(path))) return;
    renameSync(path, aside);
    if (!isAbandoned(readHolder(aside))) linkSync(aside, path);
  } catch (cause) {
    // It was given back, or taken by a third one.
    if (!['ENOENT', 'EEXIST'].includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
  } finally {
    rmSync(aside, { force: true });
  }
}

const turnWithinMs = 10_000;
const turnPollMs = 5;

/**
 * Does what takes milliseconds in one process after the other.
 * @param name - of the lock
 * @throws RollcallError STATE_IN_USE naming the process that does not give it back
 */
export function inTurn<Result>(stateDir: string, name: string, work: () => Result): Result {
  const untilMs = performance.now() + turnWithinMs;
  for (;;) {
    let unlock: () => void;
    try {
      unlock = lockState(stateDir, name);
    } catch (error) {
      if (!(error instanceof RollcallError) || performance.now() > untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, turnPollMs);
      continue;
    }
    try {
      return work();
    } finally {
      unlock();
    }
  }
}

/** The process that runs the hub of this directory, if one does. */
export function stateHolder(stateDir: string): number | undefined {
  const holder = readHolder(join(stateDir, 'up.lock'));
  if (holder === undefined || holder === 'unreadable') return undefined;
  return processIdentity(holder.pid) === holder.identity ? holder.pid : undefined;
}

/** @returns undefined: there is no lock; unreadable: it was cut off when the power went */
function readHolder(path: string): Holder | 'unreadable' | undefined {
  try {
    return readState<Holder>(path);
  } catch {
    return 'unreadable';
  }
}

import {
  linkSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { processIdentity } from '../process/child-process-identity.ts';
import { readState } from '../private-files.ts';

interface Holder {
  readonly pid: number;
  readonly identity: string | undefined;
  /** Where that number means this process: in one boot, in one namespace. Undefined where none is told, or by an older version. */
  readonly pidSpace?: string | undefined;
}

function ownPidSpace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

const touchEveryMs = 2000;
/** Of a process elsewhere that touches its lock no more. */
const goneAfterMs = 10_000;
const lookAgainMs = 500;

/**
 * Keeps a second `up` out of the state directory. The lock of a killed run does not count: its process is gone. Of a process in
 * another container, or on another machine, that is seen by its lock alone, which it touches as long as it lives.
 * @param name - of the lock, where it is for something else
 * @returns how to give the lock back
 * @throws RollcallError STATE_IN_USE naming the process that has it, DISK_FULL, USAGE where nothing can be written
 */
export function lockState(stateDir: string, name = 'up.lock'): () => void {
  const path = join(stateDir, name);
  const me: Holder = { pid: process.pid, identity: processIdentity(process.pid), pidSpace: ownPidSpace() };
  const text = JSON.stringify(me);
  const draft = `${path}.${process.pid}`;
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    rmSync(draft, { force: true });
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
    removeAbandoned(path, `${draft}.former`);
    // It is there with its text: one without would be taken for that of a killed run.
    linkSync(draft, path);
  } catch (cause) {
    throw whyNot(cause, stateDir, path);
  } finally {
    rmSync(draft, { force: true });
  }
  // Of a process that stood still, another may have it by now.
  const isMine = () => JSON.stringify(readHolder(path)) === text;
  const touching = setInterval(() => isMine() && touch(path), touchEveryMs).unref();
  return () => {
    clearInterval(touching);
    if (isMine()) rmSync(path, { force: true });
  };
}

function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date());
  } catch {
    // It has just been given back, or the directory is gone.
  }
}

function whyNot(cause: unknown, stateDir: string, path: string): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ENOSPC') return new RollcallError('DISK_FULL', `no space left to write "${path}"`, { cause });
  if (code === 'EROFS')
    return new RollcallError('USAGE', `"${stateDir}" is on a disk that is read-only`, { cause });
  if (code !== 'EEXIST') return cause;
  const by = knownHolder(path);
  const who = by === undefined ? 'another process' : `process ${by.pid}`;
  const where =
    by && isElsewhere(by)
      ? ` of another container or machine; where that was killed, try again in ${goneAfterMs / 1000} s`
      : '';
  return new RollcallError('STATE_IN_USE', `"${stateDir}" is used by ${who}${where}`);
}

/**
 * As `lockState`, for who is to come up by itself: a container that is started again after it was killed finds the lock of its former
 * self, and waits until that is seen to be gone.
 * @param say - told once, where it is waited for
 */
export async function lockStateOnceFree(
  stateDir: string,
  say: (message: string) => void,
): Promise<() => void> {
  const untilMs = performance.now() + goneAfterMs + touchEveryMs;
  for (let isSaid = false; ; isSaid = true) {
    try {
      return lockState(stateDir);
    } catch (error) {
      const holder = knownHolder(join(stateDir, 'up.lock'));
      const mayBeGone = holder !== undefined && isElsewhere(holder);
      if (!mayBeGone || performance.now() > untilMs) throw error;
      if (!isSaid) say(`waiting up to ${(goneAfterMs + touchEveryMs) / 1000} s: ${(error as Error).message}`);
      await delay(lookAgainMs);
    }
  }
}

function isElsewhere({ pidSpace }: Holder): boolean {
  const own = ownPidSpace();
  return pidSpace !== undefined && own !== undefined && pidSpace !== own;
}

function isAbandoned(path: string): boolean {
  const holder = readHolder(path);
  if (holder === undefined || holder === 'unreadable') return holder !== undefined;
  // Either way: where a clock was put back, nobody is locked out until that time comes again.
  if (isElsewhere(holder)) return Math.abs(Date.now() - statSync(path).mtimeMs) > goneAfterMs;
  return holder.pid === process.pid || processIdentity(holder.pid) !== holder.identity;
}

/** @param aside - where it lies while it is looked at once more: another may have put its own in its place meanwhile */
function removeAbandoned(path: string, aside: string): void {
  try {
    if (!isAbandoned(path)) return;
    renameSync(path, aside);
    if (!isAbandoned(aside)) linkSync(aside, path);
  } catch (cause) {
    // It was given back, or taken by a third one.
    if (!['ENOENT', 'EEXIST'].includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Also after a process of another container that was killed while it had its turn. */
const turnWithinMs = goneAfterMs + 5000;
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
      const isTaken = error instanceof RollcallError && error.code === 'STATE_IN_USE';
      if (!isTaken || performance.now() > untilMs) throw error;
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

/** The process that runs the hub of this directory, if one does here: the number of one in another container is that of somebody else. */
export function stateHolder(stateDir: string): number | undefined {
  const holder = knownHolder(join(stateDir, 'up.lock'));
  if (holder === undefined || isElsewhere(holder)) return undefined;
  return processIdentity(holder.pid) === holder.identity ? holder.pid : undefined;
}

function knownHolder(path: string): Holder | undefined {
  const holder = readHolder(path);
  return holder === 'unreadable' ? undefined : holder;
}

/** @returns undefined: there is no lock; unreadable: it was cut off when the power went */
function readHolder(path: string): Holder | 'unreadable' | undefined {
  try {
    return readState<Holder>(path);
  } catch {
    return 'unreadable';
  }
}

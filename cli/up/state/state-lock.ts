import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
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
  for (let attempt = 0; ; attempt++) {
    try {
      writeFileSync(path, JSON.stringify(me), { flag: 'wx', mode: 0o600 });
      return () => rmSync(path, { force: true });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 0) throw cause;
    }
    const holder = readHolder(path);
    if (holder && holder.pid !== process.pid && processIdentity(holder.pid) === holder.identity) {
      throw new RollcallError('STATE_IN_USE', `"${stateDir}" is used by process ${holder.pid}`);
    }
    rmSync(path, { force: true });
  }
}

/** The process that runs the hub of this directory, if one does. */
export function stateHolder(stateDir: string): number | undefined {
  const holder = readHolder(join(stateDir, 'up.lock'));
  return holder && processIdentity(holder.pid) === holder.identity ? holder.pid : undefined;
}

function readHolder(path: string): Holder | undefined {
  try {
    return readState<Holder>(path);
  } catch {
    // A lock that was cut off by a kill.
    return undefined;
  }
}

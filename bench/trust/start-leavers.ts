import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import type { LeaversSettings, LeaversWord } from './leavers-process.ts';

/** Agents that are members, and may be told to ask to leave. */
export interface Leavers extends AsyncDisposable {
  readonly pid: number;
  /** All ask at once. Resolves when the hub has heard the goodbye of the last. */
  leave(): Promise<void>;
}

/**
 * Starts agents in a process that does nothing else, so that what they do takes no time of whoever measures. Resolves when all of
 * them are members.
 * @throws RollcallError CHILD_FAILED; it has said why on stderr
 */
export async function startLeavers(settings: LeaversSettings): Promise<Leavers> {
  const child = fork(join(import.meta.dirname, 'leavers-process.ts'), {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  async function said(word: LeaversWord): Promise<void> {
    const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
    if (first?.[0] !== word) throw new RollcallError('CHILD_FAILED', 'the process of those who leave ended');
  }
  child.send(settings);
  await said('admitted');
  return {
    pid: child.pid ?? 0,
    leave() {
      const left = said('left');
      child.send('leave');
      return left;
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

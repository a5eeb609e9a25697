import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { endLeftovers } from './leftovers.ts';
import { refuseForeign } from './state/refuse-foreign.ts';
import { lockState, stateHolder } from './state/state-lock.ts';

function say(message: string): void {
  process.stderr.write(`[down] ${message}\n`);
}

/**
 * `rollcall down`: stops what an `up` of this state directory left running, and with `wipe` forgets everything.
 * @throws RollcallError STATE_IN_USE while an `up` is running; it is stopped with Ctrl-C, in its own terminal; USAGE for a directory
 *   to wipe that is nobody's hub
 */
export async function down(options: { stateDir: string; wipe: boolean }): Promise<number> {
  const { stateDir, wipe } = options;
  if (!existsSync(join(stateDir, 'hub.json')) && stateHolder(stateDir) === undefined) {
    const reaped = await endLeftovers(stateDir);
    if (reaped.length > 0) say(`ended ${reaped.join(', ')}`);
    if (wipe) refuseForeign(stateDir);
    const isThere = existsSync(stateDir);
    if (wipe && isThere) rmSync(stateDir, { recursive: true, force: true });
    say(wipe && isThere ? `"${stateDir}" is gone; no hub was in it` : `there is no hub in "${stateDir}"`);
    return 0;
  }
  const holder = stateHolder(stateDir);
  if (holder !== undefined) {
    say(`stopping the hub of process ${holder}`);
    process.kill(holder, 'SIGTERM');
    for (let waitedMs = 0; stateHolder(stateDir) === holder; waitedMs += 100) {
      if (waitedMs > 30_000) throw new RollcallError('STATE_IN_USE', `process ${holder} does not stop`);
      await delay(100);
    }
  }
  // One that runs in another container is not seen by its process, and cannot be stopped from here.
  lockState(stateDir)();
  const reaped = await endLeftovers(stateDir);
  if (reaped.length > 0) say(`ended ${reaped.join(', ')}`);
  if (wipe) rmSync(stateDir, { recursive: true, force: true });
  const wasRunning = holder !== undefined || reaped.length > 0;
  const stopped = wasRunning ? 'stopped; the state is kept' : 'no hub was running; the state is kept';
  say(wipe ? `"${stateDir}" is gone; every cluster registers again` : stopped);
  return 0;
}

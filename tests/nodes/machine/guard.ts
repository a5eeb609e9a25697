import { once } from 'node:events';
import { join } from 'node:path';
import { withLock } from '../../../tools/setup/lock.mjs';
import { cleanUp } from './clean-up.ts';
import { kept } from './places.ts';
import { step } from './run.ts';

/*
 * Takes away what an earlier run has left, says that it is ready, waits for the end of the test run, however that ends (its end of the
 * pipe closes even at kill -9), and takes every node away. Until it has done so no other run begins: the lock is this process's.
 */
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
const ended = once(process.stdin.resume(), 'end');
const onWait = (holder: string) => process.stderr.write(`nodes: waiting for another run (${holder})\n`);
await withLock(join(kept, 'lock'), { onWait }, async () => {
  await step('clearing away what an earlier run has left', cleanUp);
  process.stdout.write('ready\n');
  await ended;
  await cleanUp();
});

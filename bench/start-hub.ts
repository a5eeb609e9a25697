import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import type { HubReport } from './hub-process.ts';

export interface BenchHub extends AsyncDisposable {
  readonly report: HubReport;
}

/**
 * Starts a hub in a process of its own, so that measuring costs it nothing.
 * @throws RollcallError CHILD_FAILED; it has said why on stderr
 */
export async function startBenchHub(): Promise<BenchHub> {
  const child = fork(join(import.meta.dirname, 'hub-process.ts'), [], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (!first) throw new RollcallError('CHILD_FAILED', 'the hub did not start');
  return {
    report: first[0] as HubReport,
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

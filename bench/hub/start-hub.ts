import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeAccess, type KubeClient } from '@rollcall/shared/kubernetes';
import type { HubReport, HubSettings } from './hub-process.ts';

export interface BenchHub extends AsyncDisposable {
  readonly report: HubReport;
  /** NATS and the API server go on. */
  stopServices(): Promise<void>;
}

/**
 * Starts a hub in a process of its own, so that measuring costs it nothing.
 * @throws RollcallError CHILD_FAILED; it has said why on stderr
 */
export async function startBenchHub(settings: HubSettings): Promise<BenchHub> {
  const child = fork(join(import.meta.dirname, 'hub-process.ts'), [JSON.stringify(settings)], {
    execArgv: ['--max-semi-space-size=4'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const first = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  if (!first) throw new RollcallError('CHILD_FAILED', 'the hub did not start');
  return {
    report: first[0] as HubReport,
    async stopServices() {
      const stopped = once(child, 'message');
      child.send('stop-services');
      await Promise.race([stopped, exited]);
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** Who measures, on the API server of the hub or of the members. The caller closes it. */
export function openBenchClient(access: KubeAccess): KubeClient {
  return createKubeClient(access, { fieldManager: 'rollcall-bench', userAgent: 'rollcall-bench' });
}

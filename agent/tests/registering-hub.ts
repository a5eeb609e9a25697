import type { EventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { configSchema, start } from '../../services/registrar/main.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';

/** A hub that takes requests, and leaves the decisions to the test. */
export interface RegisteringHub extends AsyncDisposable {
  readonly hub: TestHub;
  readonly approverLog: EventLog;
}

/** @param options - of the hub */
export async function startRegisteringHub(
  options: Parameters<typeof startTestHub>[0] = {},
): Promise<RegisteringHub> {
  const hub = await startTestHub(options);
  const values = hub.serviceSettings('registrar');
  const registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  return {
    hub,
    approverLog: await hub.openLog('approver'),
    async [Symbol.asyncDispose]() {
      await registrar.stop();
      await hub[Symbol.asyncDispose]();
    },
  };
}

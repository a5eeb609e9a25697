import { refillStream } from '@rollcall/shared/bus';
import { createNkey } from '@rollcall/shared/trust';
import { serveInProcess } from '../tests/harness/service-process.ts';
import { startTestHub } from '../tests/harness/test-hub.ts';
import { nowMs } from './clock.ts';
import { historyWriter, lifeOf } from '../tests/harness/cluster-history.ts';
import { residentBytes } from '../cli/simulate/process-usage.ts';

/** A heartbeat service that starts on a hub with many clusters: from the start of its process until it is ready. */
export interface RestartResult {
  readonly clusters: number;
  readonly events: number;
  readonly readyMs: number;
  readonly residentBytes: number;
}

export async function measureRestart(
  clusters: number,
  say: (message: string) => void,
): Promise<RestartResult> {
  await using hub = await startTestHub();
  say(`a history of ${clusters} clusters`);
  const atMs = Date.now() - 60_000;
  const encode = historyWriter(atMs);
  const { publicKey } = createNkey('user');
  async function* history() {
    for (let index = 0; index < clusters; index++)
      for (const event of lifeOf(index, publicKey, atMs)) {
        const { sequence, subject, headers, body } = encode(event);
        yield { sequence, subject, headers, data: body };
      }
  }
  const events = await refillStream(await hub.connectAsOperator(), history(), { sameSequences: true });
  say('the heartbeat service starts');
  const settings = { ...hub.serviceSettings('heartbeat'), logLevel: 'info' };
  const fromMs = nowMs();
  await using service = await serveInProcess('heartbeat', {
    label: 'heartbeat-1',
    stateDir: hub.stateDir,
    settings,
  });
  return {
    clusters,
    events,
    readyMs: nowMs() - fromMs,
    residentBytes: residentBytes(service.pid) ?? Number.NaN,
  };
}

import { refillStream, streamSize } from '@rollcall/shared/bus';
import { createNkey } from '@rollcall/shared/trust';
import { cpuMs, residentBytes } from '../../cli/simulate/report/process-usage.ts';
import { livesOf, messagesOf } from '../../tests/harness/cluster-history.ts';
import { serveInProcess } from '../../tests/harness/service-process.ts';
import { startTestHub } from '../../tests/harness/test-hub.ts';
import { nowMs } from '../report/clock.ts';
import { openUsageWindow } from '../report/usage-window.ts';

/** A heartbeat service that starts on a hub with many clusters: from the start of its process until it is ready. */
export interface RestartOfSize {
  readonly clusters: number;
  readonly events: number;
  readonly readyMs: number;
  readonly residentBytes: number;
  /** User and system time until then. */
  readonly serviceCpuMs: number;
  readonly serverCpuMs: number;
  /** What the NATS server keeps of the clusters, on disk and in memory. */
  readonly streamBytes: number;
  readonly serverResidentBytes: number;
}

/** The smallest first, so that what grows with the fleet can be told from what does not. */
export type RestartResult = readonly RestartOfSize[];

async function restartWith(clusters: number, say: (message: string) => void): Promise<RestartOfSize> {
  await using hub = await startTestHub();
  say(`a history of ${clusters} clusters`);
  const { publicKey } = createNkey('user');
  const lives = livesOf(Array<string>(clusters).fill(publicKey), Date.now() - 60_000);
  const events = await refillStream(await hub.connectAsOperator(), messagesOf(lives), {
    sameSequences: true,
  });
  const size = await streamSize(await hub.connectAs('inspector'), 'EVENTS');
  say('the heartbeat service starts');
  const settings = { ...hub.serviceSettings('heartbeat'), logLevel: 'info' };
  const fromMs = nowMs();
  const usage = openUsageWindow({ server: hub.natsServer.pid() });
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
    serviceCpuMs: cpuMs(service.pid) ?? Number.NaN,
    serverCpuMs: usage().cpuMs['server'] ?? Number.NaN,
    streamBytes: size?.bytes ?? Number.NaN,
    serverResidentBytes: residentBytes(hub.natsServer.pid()) ?? Number.NaN,
  };
}

/** @param fleet - the largest; a hundredth and a tenth of it come before */
export async function measureRestart(fleet: number, say: (message: string) => void): Promise<RestartResult> {
  const sizes: RestartOfSize[] = [];
  for (const clusters of [fleet / 100, fleet / 10, fleet])
    sizes.push(await restartWith(Math.max(1, Math.round(clusters)), say));
  return sizes;
}

import { setTimeout as delay } from 'node:timers/promises';
import { openEventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { openFleet } from '../cli/simulate/fleet.ts';
import { planFleet } from '../cli/simulate/fleet-plan.ts';
import type { HubAtHand } from '../cli/simulate/hub-at-hand.ts';
import { createRandom } from '../cli/simulate/random.ts';
import { watchRun } from '../cli/simulate/run-watch.ts';
import type { SimulationSettings } from '../cli/simulate/simulation-settings.ts';
import { openHubState } from '../cli/up/hub-state.ts';
import { connectAsOps } from '../cli/up/ops-connection.ts';
import type { HubReport } from './hub-process.ts';
import { measureSteady, type Steady } from './measure-steady.ts';
import { openBenchClient, startBenchHub } from './start-hub.ts';

const seed = 1;
const lookEveryMs = 500;
const joinedWithinMs = 600_000;
const shownWithinMs = 1_800_000;
/** As agents beat where nothing else is set. */
const heartbeat = { interval: 15_000, grace: 45_000 };

async function openAt({ stateDir, addresses, caPem, admin, epoch }: HubReport): Promise<HubAtHand> {
  const address = { servers: addresses, caPem };
  const nc = await connectAsOps(stateDir, address);
  const client = openBenchClient(admin);
  return {
    stateDir,
    hub: openHubState(stateDir, Date.now()),
    port: Number(addresses[0]?.split(':').at(-1)),
    address,
    admin: client,
    nc,
    log: await openEventLog(nc, { epoch, source: '/rollcall/bench' }),
    async [Symbol.asyncDispose]() {
      client.close();
      await nc.close();
    },
  };
}

async function untilTrue(what: string, withinMs: number, ask: () => Promise<boolean>): Promise<void> {
  for (const untilMs = performance.now() + withinMs; performance.now() < untilMs; await delay(lookEveryMs))
    if (await ask()) return;
  throw new RollcallError('DEADLINE_EXCEEDED', `not in time: ${what}`);
}

/** What a hub writes of a made-up fleet, all of which Kubernetes shows, while it only beats. */
export async function measureFleetAtRest(
  of: { clusters: number; seconds: number },
  say: (message: string) => void,
): Promise<Steady> {
  const { clusters, seconds } = of;
  // Else the projector's budget would be most of the run.
  const settings = { projector: { writesPerSecond: '100000' } };
  await using hub = await startBenchHub({ audit: 'metadata', withMember: false, settings });
  await using at = await openAt(hub.report);
  const scenario = { description: '', heartbeat, groups: { all: 1 }, steps: [], end: 0 };
  const run: SimulationSettings = {
    clusters,
    real: 0,
    joinsPerSecond: 1,
    shown: clusters,
    seed,
    scenario,
    name: 'bench',
  };
  const fleet = await openFleet(at, planFleet(scenario, clusters, createRandom(seed)), run);
  const watch = watchRun(at.nc, { prefix: fleet.prefix, onStorm: say });
  try {
    say(`${clusters} clusters come`);
    await fleet.register(Array.from({ length: clusters }, (_, cluster) => cluster));
    await untilTrue('all have joined', joinedWithinMs, async () => watch.joined() >= clusters);
    say('all have joined; Kubernetes is to show them');
    await untilTrue('all are shown', shownWithinMs, async () => {
      const answer = await at.nc
        .request('$SRV.STATS.projector', '', { timeout: 5000 })
        .catch(() => undefined);
      return answer?.json<{ data: { dirty: number } }>().data.dirty === 0;
    });
    say(`counting writes for ${seconds} s, once all is settled`);
    const { auditLogPath, pids } = hub.report;
    return await measureSteady({ auditLogPath, pids, clusters, seconds });
  } finally {
    watch.stop();
    await fleet.stop();
  }
}

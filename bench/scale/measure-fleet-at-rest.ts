import { openFleet } from '../../cli/simulate/clusters/fleet.ts';
import { planFleet } from '../../cli/simulate/clusters/fleet-plan.ts';
import { createRandom } from '../../cli/simulate/random.ts';
import { watchRun } from '../../cli/simulate/report/run-watch.ts';
import type { SimulationSettings } from '../../cli/simulate/simulation-settings.ts';
import { askServices, figureOf } from '../../cli/status/ask-services.ts';
import { openHubState } from '../../cli/up/state/hub-state.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { until } from '../../tests/harness/embedded.ts';
import { measureSteady, type Steady } from '../joins/measure-steady.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';

const seed = 1;
const lookEveryMs = 500;
const joinedWithinMs = 600_000;
const shownWithinMs = 1_800_000;
/** As agents send heartbeats where nothing else is set. */
const heartbeat = { interval: 15_000, grace: 45_000 };

/** What a hub writes of a made-up fleet, all of which Kubernetes shows, while it only sends heartbeats. */
export async function measureFleetAtRest(
  of: { clusters: number; seconds: number },
  say: (message: string) => void,
): Promise<Steady> {
  const { clusters, seconds } = of;
  // Else the projector's budget would be most of the run.
  const settings = { projector: { writesPerSecond: '100000' } };
  await using hub = await startBenchHub({ audit: 'metadata', withMember: false, settings });
  const { stateDir, addresses, caPem, auditLogPath, pids } = hub.report;
  const address = { servers: addresses, caPem };
  await using stack = new AsyncDisposableStack();
  const admin = stack.adopt(openBenchClient(hub.report.admin), (client) => client.close());
  const nc = stack.adopt(await connectAsInspector(stateDir, address), (connection) => connection.close());
  const at = { stateDir, hub: openHubState(stateDir, Date.now()), address, admin };
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
  const plan = planFleet(scenario, clusters, createRandom(seed));
  const fleet = stack.adopt(await openFleet(at, plan, run, new AbortController().signal), (opened) =>
    opened.stop(),
  );
  const watch = watchRun(nc, { prefix: fleet.prefix, onOutage: say });
  stack.defer(() => watch.stop());
  say(`${clusters} clusters come`);
  await fleet.register(Array.from({ length: clusters }, (_, cluster) => cluster));
  await until('all have joined', async () => watch.joined() >= clusters, {
    withinMs: joinedWithinMs,
    everyMs: lookEveryMs,
  });
  say('all have joined; Kubernetes is to show them');
  await until('all are shown', async () => figureOf(await askServices(nc), 'projector', 'queued') === 0, {
    withinMs: shownWithinMs,
    everyMs: lookEveryMs,
  });
  say(`counting writes for ${seconds} s, once all is settled`);
  return await measureSteady({ auditLogPath, pids, clusters, seconds });
}

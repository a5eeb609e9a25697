import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { untilAvailable } from '../../cli/install/until-available.ts';
import { statefulSets } from '../../cli/install/workloads.ts';
import { conditionOf, until } from '../harness/embedded.ts';
import type { ChartRunner } from './chart-runner.ts';
import { hubServices } from './one-machine.ts';

/** Eight processes begin at once, on a machine that may be busy. */
const runsWithinMs = 240_000;

/** An installed hub, as tests wait for it. */
export interface SeenHub {
  cluster(name: string): Promise<ManagedCluster | undefined>;
  /** Every wait fails with what the pods printed. */
  readiness(name: string, status: string): Promise<ManagedCluster>;
  untilAllRun(): Promise<void>;
}

/**
 * @param places.hub - the API server of the hub
 * @param places.workloads - that of its pods
 */
export function seenHub(
  places: { hub: KubeClient; workloads: KubeClient },
  runners: { hub: ChartRunner; agent: ChartRunner },
): SeenHub {
  const cluster = (name: string) => places.hub.get<ManagedCluster>(resources.managedClusters, { name });
  const withLogs = <Value>(waiting: Promise<Value>): Promise<Value> =>
    waiting.catch((error: unknown) => {
      const names = ['nats', ...hubServices].map((name) => `rollcall-${name}`);
      const logs = names.map((name) => runners.hub.log(name).slice(-2000));
      throw new Error([...logs, runners.agent.log('rollcall-agent').slice(-2000)].join('\n'), {
        cause: error,
      });
    });
  return {
    cluster,
    readiness: (name, status) =>
      withLogs(
        until(`cluster ${name} has Ready=${status}`, async () => {
          const found = await cluster(name);
          return conditionOf(found, 'Ready')?.status === status && found;
        }),
      ),
    async untilAllRun() {
      const services = hubServices.map((name) => ({
        resource: resources.deployments,
        name: `rollcall-${name}`,
      }));
      const all = [{ resource: statefulSets, name: 'rollcall-nats' }, ...services];
      const running = all.map((one) =>
        untilAvailable(places.workloads, { ...one, namespace: 'rollcall-system' }, runsWithinMs),
      );
      await withLogs(Promise.all(running));
    },
  };
}

import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resources } from '@rollcall/shared/kubernetes';
import { type CliResult, runCli } from '../../cli/tests/run-cli.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A hub on which `rollcall simulate` is run, as by who has its state directory. */
export interface SimulatedOn extends AsyncDisposable {
  readonly hub: TestEmbeddedHub;
  simulate(...args: string[]): Promise<CliResult>;
  /** @returns the path of a file with that text */
  scenario(name: string, text: string): string;
  simulated(kind: typeof resources.managedClusters): Promise<unknown[]>;
  untilNothingIsLeft(): Promise<unknown>;
}

export async function startSimulatedHub(
  options?: Parameters<typeof startTestEmbeddedHub>[0],
): Promise<SimulatedOn> {
  const hub = await startTestEmbeddedHub(options);
  copyFileSync(hub.up.plane.adminKubeconfigPath, join(hub.up.stateDir, 'kubeconfig'));
  async function simulated(kind: typeof resources.managedClusters): Promise<unknown[]> {
    const all = await hub.up.admin.list(kind);
    return all.filter(({ metadata }) => metadata.name.startsWith('sim-'));
  }
  return {
    hub,
    simulate: (...args) => runCli(['simulate', ...args], { environment: { ROLLCALL_HOME: hub.up.stateDir } }),
    scenario(name, text) {
      const path = join(hub.up.stateDir, `${name}.yaml`);
      writeFileSync(path, text);
      return path;
    },
    simulated,
    untilNothingIsLeft: () =>
      until('no simulated cluster is left', async () => {
        const left = await Promise.all([
          simulated(resources.managedClusters),
          simulated(resources.clusterRegistrationRequests),
          simulated(resources.clusterRegistrationTokens),
        ]);
        return left.flat().length === 0;
      }),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

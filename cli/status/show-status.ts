import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { BusFlags } from '../events/bus-access.ts';
import { type OpenBus, openBus } from '../events/open-bus.ts';
import { documentText } from '../terminal/document-text.ts';
import { exitCodes } from '../exit-code.ts';
import { openHub } from '../hub-access.ts';
import { openWorkloads, type WorkloadsFlags } from '../install/hub/hub-places.ts';
import { printResult } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { type HubStatus, judgeHub } from './hub-status.ts';
import type { Problem } from './problems.ts';
import {
  type BusSide,
  kubernetesAway,
  type KubernetesSide,
  readBusSide,
  readKubernetesSide,
} from './read-sides.ts';
import { askWithinMs, lookAtObjects } from './look-at-objects.ts';
import { statusText } from './status-text.ts';

export interface StatusFlags extends BusFlags, WorkloadsFlags {
  readonly output: 'text' | 'json' | 'yaml';
}

/**
 * Reads both sides of the hub; one that is away is a problem of the hub, both away is a hub that is away.
 * @throws RollcallError HUB_MISSING, KUBECONFIG_INVALID, BUS_UNREACHABLE
 */
export async function readStatus(given: BusFlags & WorkloadsFlags): Promise<HubStatus> {
  const flags = { ...given, askWithinMs };
  let client: KubeClient | undefined;
  const workloads = openWorkloads(given);
  let objects: readonly Problem[] = [];
  let bus: OpenBus | undefined;
  let busError: RollcallError | undefined;
  // Who has a context of the bus alone sees what the services say.
  async function readKubernetes(): Promise<KubernetesSide> {
    try {
      client = openHub(flags);
      const [side, found] = await Promise.all([readKubernetesSide(client), lookAtObjects(client, workloads)]);
      if (side.error === undefined) objects = found;
      return side;
    } catch (thrown) {
      return kubernetesAway(thrown);
    }
  }
  async function readBus(): Promise<BusSide> {
    bus = await openBus(flags).catch((thrown: unknown) => {
      busError = toRollcallError(thrown);
      if (busError.code === 'USAGE') throw busError;
      return undefined;
    });
    if (bus) return readBusSide(bus);
    const { message = '', hint = '' } = busError ?? {};
    return { answers: [], streams: {}, server: undefined, version: undefined, error: message, next: hint };
  }
  try {
    const [busSide, kubernetesSide] = await Promise.all([readBus(), readKubernetes()]);
    if (busError && kubernetesSide.error !== undefined) throw busError;
    return judgeHub(busSide, kubernetesSide, objects);
  } finally {
    client?.close();
    workloads?.close();
    await bus?.nc.close();
  }
}

/**
 * `rollcall status`: the hub at a glance. Exit 0 only where all was asked and is well; 1 where something is not as it should be, 5
 * where nothing is known to be wrong and something could not be asked.
 */
export async function showStatus(flags: StatusFlags): Promise<void> {
  const status = await withProgress('asking the hub', readStatus(flags));
  printResult(flags.output === 'text' ? statusText(status) : documentText(status, flags.output));
  const has = (wanted: Problem['severity']) => status.problems.some(({ severity }) => severity === wanted);
  if (has('wrong')) process.exitCode = exitCodes.failed;
  else if (has('unknown')) process.exitCode = exitCodes.unreachable;
}

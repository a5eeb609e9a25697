import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { BusFlags } from '../events/bus-access.ts';
import { type OpenBus, openBus } from '../events/open-bus.ts';
import { documentText } from '../document-text.ts';
import { exitCodes } from '../exit-code.ts';
import { openHub } from '../hub-access.ts';
import { printResult } from '../output.ts';
import { withProgress } from '../progress.ts';
import {
  type BusSide,
  type HubStatus,
  judgeHub,
  kubernetesAway,
  type KubernetesSide,
  readBusSide,
  readKubernetesSide,
} from './hub-status.ts';
import { statusText } from './status-text.ts';

export interface StatusFlags extends BusFlags {
  readonly output: 'text' | 'json' | 'yaml';
}

/**
 * Reads both sides of the hub; one that is away is a problem of the hub, both away is a hub that is away.
 * @throws RollcallError HUB_MISSING, KUBECONFIG_INVALID, BUS_UNREACHABLE
 */
async function readStatus(flags: BusFlags): Promise<HubStatus> {
  let client: KubeClient | undefined;
  let bus: OpenBus | undefined;
  let busError: RollcallError | undefined;
  // Who has a context of the bus alone sees what the services say.
  async function readKubernetes(): Promise<KubernetesSide> {
    try {
      return await readKubernetesSide((client = openHub(flags)));
    } catch (thrown) {
      return kubernetesAway(thrown);
    }
  }
  try {
    bus = await openBus(flags).catch((thrown: unknown) => {
      busError = toRollcallError(thrown);
      if (busError.code === 'USAGE') throw busError;
      return undefined;
    });
    const away: BusSide = {
      answers: [],
      streams: {},
      server: undefined,
      version: undefined,
      error: busError?.message ?? '',
    };
    const [busSide, kubernetesSide] = await Promise.all([bus ? readBusSide(bus) : away, readKubernetes()]);
    if (busError && kubernetesSide.error !== undefined) throw busError;
    return judgeHub(busSide, kubernetesSide);
  } finally {
    client?.close();
    await bus?.nc.close();
  }
}

/** `rollcall status`: the hub at a glance. Exit 1 where something is not as it should be. */
export async function showStatus(flags: StatusFlags): Promise<void> {
  const status = await withProgress('asking the hub', readStatus(flags));
  printResult(flags.output === 'text' ? statusText(status) : documentText(status, flags.output));
  if (status.problems.length > 0) process.exitCode = exitCodes.failed;
}

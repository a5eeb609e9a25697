import { RollcallError } from '@rollcall/shared/errors';
import { clusterRecord } from '@rollcall/shared/events';
import { resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { annotations, apiVersion, managedCluster, type ManagedCluster } from '@rollcall/shared/resources';
import { durationFlagMs, timeoutFlagMs } from '../duration-flag.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { clusterIdOfTarget } from '../events/cluster-names.ts';
import { openBus } from '../events/open-bus.ts';
import { type DoneFormat, printDone } from '../get/print-objects.ts';
import { openHub, sayHub } from '../hub-access.ts';
import { withProgress } from '../terminal/progress.ts';
import { waitForObject } from '../wait-for-object.ts';

export interface ShowFlags extends BusFlags {
  readonly for: string;
  readonly timeout: string;
  readonly output: DoneFormat;
}

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;

/** @throws RollcallError NOT_FOUND: nobody has that name or id, or it was never let in */
async function findMember(target: string, flags: BusFlags): Promise<{ clusterId: string; name: string }> {
  const { nc, log } = await openBus(flags);
  try {
    const clusterId = await clusterIdOfTarget(log, target);
    const { decision } = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    if (decision?.approvedKey !== undefined) return { clusterId, name: decision.clusterName };
    throw new RollcallError('NOT_FOUND', `"${target}" is no member: what there is of it is shown already`);
  } finally {
    await nc.close();
  }
}

/**
 * Makes a cluster visible on a hub that shows only exceptions (ADR 18), for as long as it is asked for: then people can
 * ask of it what they ask of any other.
 * @param target - name or id
 * @throws RollcallError USAGE, NOT_FOUND, DEADLINE_EXCEEDED, BUS_UNREACHABLE; KubeApiError
 */
export async function showCluster(target: string, flags: ShowFlags): Promise<void> {
  const forMs = durationFlagMs('--for', flags.for);
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const client = openHub(flags);
  const { managedClusters } = resources;
  try {
    sayHub(client);
    const { clusterId, name } = await withProgress('looking for the cluster', findMember(target, flags));
    const until = new Date(Date.now() + forMs).toISOString().replace(/\.\d+Z$/, 'Z');
    const metadata = { annotations: { [annotations.showUntil]: until } };
    if (await client.get<Cluster>(managedClusters, { name }))
      await client.mergePatch(managedClusters, name, { metadata }, { strict: true });
    else
      await client.create(managedClusters, {
        apiVersion,
        kind: managedCluster.kind,
        metadata: { name, ...metadata },
        spec: { clusterId },
      });
    const waiting = waitForObject<Cluster>(
      client,
      { resource: managedClusters, name, timeoutMs },
      ({ status }) => status?.observed !== undefined,
    );
    const shown = await withProgress('waiting for the hub', waiting);
    if (!shown)
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `the hub has not filled in managed cluster "${name}" within ${timeoutMs / 1000} s; \`rollcall status\` says whether the projector runs`,
      );
    const how = { resource: managedClusters, output: flags.output };
    printDone(`cluster "${name}" is shown until ${until}`, shown, how);
  } finally {
    client.close();
  }
}

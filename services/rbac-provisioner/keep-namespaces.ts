import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, epochAggregate, epochRecord } from '@rollcall/shared/events';
import {
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
  watchResource,
} from '@rollcall/shared/kubernetes';
import { annotations, labels } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { isProvisioned, wantedAccess } from './access-step.ts';

/** Up to three writes each: what etcd lost comes back in minutes, and the API server has room for others meanwhile. */
const remadePerSecond = 20;
/** A namespace that Kubernetes is still emptying is waited for in its handler; the others go on meanwhile. */
const concurrency = 4;

/** Wakes the comparison with everything that the events say is there. */
const everything = '*';

interface Parts {
  readonly log: Pick<EventLog, 'read' | 'readAll'>;
  readonly kube: KubeClient;
  readonly logger: Logger;
  /** Makes again what a cluster has in Kubernetes, if its record still says so. */
  remake(clusterId: string): Promise<void>;
}

/** Says when the next one may go. */
function createPace(perSecond: number, signal: AbortSignal): () => Promise<void> {
  let freeAtMs = 0;
  return () => {
    const nowMs = performance.now();
    const waitMs = Math.max(0, freeAtMs - nowMs);
    freeAtMs = nowMs + waitMs + 1000 / perSecond;
    return delay(waitMs, undefined, { signal });
  };
}

/**
 * Makes again what Kubernetes has lost of clusters that are let in: etcd was emptied, set back, or replaced by that of another
 * machine, or somebody deleted a namespace. The events say what was there; one watch of our own namespaces says what is, so
 * while nothing is missing, nothing is asked. Nobody is approved anew: it is the record's word that counts (access-step.ts).
 *
 * A person who wants a namespace to stay away sets `rollcall.dev/autoupdate: "false"` on it before deleting it; what is missing
 * from a complete list is made again all the same.
 */
export function keepNamespaces({ log, kube, logger, remake }: Parts): {
  /** Whether the API server has said what there is. */
  isSynced(): boolean;
  drain(): Promise<void>;
} {
  let isSynced = false;
  const ending = new AbortController();
  const { signal } = ending;
  const present = new Set<string>();
  const pace = createPace(remadePerSecond, signal);

  async function isMissing(id: string): Promise<boolean> {
    const record = clusterRecord(await log.read({ kind: 'cluster', id }));
    const { access } = record;
    if (!access || !isProvisioned(record)) return false;
    return (wantedAccess(record) ?? 'deprovision') !== 'deprovision' && !present.has(access.namespace);
  }

  async function look(id: string): Promise<void> {
    if (!epochRecord(await log.read(epochAggregate)).isReviewed)
      throw new RollcallError('RESTORE_UNREVIEWED', 'the approver has not looked yet at who is still in');
    if (id === everything) {
      // Those that a record of today's fold says are gone again cost one read each, and only here.
      for (const { id: known, section } of await log.readAll('cluster.*.provisioned')) {
        const { namespace } = section as { namespace: string };
        if (!present.has(namespace)) reconciler.wake(known);
      }
      return;
    }
    if (!(await isMissing(id))) return;
    await pace();
    await remake(id);
  }
  const reconciler = createReconciler({ handle: look, logger, concurrency });

  function forget({ metadata }: StoredObject<KubeObject>, seenBy: 'watch' | 'relist'): void {
    present.delete(metadata.name);
    const id = metadata.labels?.[labels.clusterId];
    const isLeftAlone = seenBy === 'watch' && metadata.annotations?.[annotations.autoupdate] === 'false';
    if (id !== undefined && !isLeftAlone) reconciler.wake(id);
  }
  const whenEnded = watchResource<KubeObject>(kube, resources.namespaces, {
    labelSelector: `${labels.createdBy}=rbac-provisioner`,
    signal,
    onEvent(event) {
      if (event.kind === 'deleted') forget(event.object, event.seenBy);
      else present.add(event.object.metadata.name);
    },
    onSynced() {
      isSynced = true;
      reconciler.wake(everything);
    },
    onError: (error) =>
      logger.warn({ err: toRollcallError(error), object: 'namespaces' }, 'watch was interrupted'),
  });
  return {
    isSynced: () => isSynced,
    async drain() {
      ending.abort(new Error('stopping'));
      await whenEnded;
      await reconciler.drain();
    },
  };
}

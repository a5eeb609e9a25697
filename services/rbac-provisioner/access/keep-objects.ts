import { setTimeout as delay } from 'node:timers/promises';
import { type EventLog, readEpoch } from '@rollcall/shared/bus';
import { createReconciler } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import {
  type Access,
  clusterRecord,
  type ClusterRecord,
  createEventId,
  type Decision,
  type EventDraft,
} from '@rollcall/shared/events';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import {
  accessRequestId,
  planAccess,
  hasAccount,
  isProvisioned,
  type NamespaceOwners,
  wantedAccess,
} from './plan-access.ts';
import { awaitNamespaces, lacksNamespace } from './awaited-namespaces.ts';
import { missing, type Wake } from './reconcile-access.ts';
import { watchPresentObjects } from './present-objects.ts';

/** Up to three writes each: what etcd lost comes back in minutes, and the API server has room for others meanwhile. */
const remadePerSecond = 20;
const concurrency = 4;

/** Wakes the comparison with everything that the events say is there. */
const everything = '*';

interface Parts {
  readonly log: Pick<EventLog, 'read' | 'readAll' | 'scan'>;
  readonly kube: KubeClient;
  readonly logger: Logger;
  readonly namespaces: NamespaceOwners;
  /** Makes Kubernetes fit the record. @throws RollcallError NAMESPACE_TERMINATING */
  bring(wake: Wake): Promise<readonly EventDraft[]>;
  tell(drafts: readonly EventDraft[]): void;
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

/** Two replicas that see the same would replace what the other has just made: mostly one of them has told by then. */
const longestDelayMs = 500;
/** Who takes something away again and again has it made again ever more slowly, and the history stays short. */
const longestBackoffMs = 10 * 60_000;

/** How often each was made again of late. */
function createBackoff(): { delayMs(id: string): number; note(id: string): void } {
  const remade = new Map<string, { times: number; atMs: number }>();
  return {
    delayMs(id) {
      const { times = 0, atMs = 0 } = remade.get(id) ?? {};
      const isOld = performance.now() - atMs > 2 * longestBackoffMs;
      return times === 0 || isOld ? 0 : Math.min(1000 * 2 ** times, longestBackoffMs);
    },
    note(id) {
      const nowMs = performance.now();
      for (const [old, { atMs }] of remade) {
        if (nowMs - atMs < 2 * longestBackoffMs) break;
        remade.delete(old);
      }
      const { times = 0 } = remade.get(id) ?? {};
      remade.delete(id);
      remade.set(id, { times: times + 1, atMs: nowMs });
    },
  };
}

/** Those by which a cluster that is in may get a namespace; the record says whether it still does. */
const givingFilters = ['cluster.*.approved', 'cluster.*.changed'] as const;

/**
 * Makes again what Kubernetes has lost of clusters that are let in: etcd was emptied, set back, or replaced by that of another
 * machine, or somebody deleted a namespace, an account or a binding, or put another in its place. The events say what was there,
 * with UIDs; watches of our own objects say what is, so while nothing is missing, nothing is asked. Nobody is approved anew: it is
 * the record's word that counts (plan-access.ts).
 *
 * A person who wants one to stay away sets `rollcall.dev/autoupdate: "false"` on it before deleting it; what is missing
 * from a complete list is made again all the same.
 */
export function keepObjects({ log, kube, logger, namespaces, bring, tell }: Parts): {
  /** Whether the API server has said what there is. */
  isSynced(): boolean;
  /** What an event asks for; a namespace that is still being deleted is waited for (awaited-namespaces.ts). */
  bringOrWait(wake: Wake): Promise<readonly EventDraft[]>;
  drain(): Promise<void>;
} {
  const ending = new AbortController();
  const { signal } = ending;
  const pace = createPace(remadePerSecond, signal);
  const backoff = createBackoff();
  /** Those that are looked at in a moment. */
  const due = new Map<string, NodeJS.Timeout>();

  function wakeLater(id: string): void {
    if (signal.aborted || due.has(id)) return;
    const wake = () => {
      due.delete(id);
      reconciler.wake(id);
    };
    due.set(id, setTimeout(wake, backoff.delayMs(id) + Math.random() * longestDelayMs));
  }

  /** Whether what is still to be made had to wait for a namespace that is gone by now, here or in a process that has ended. */
  function isOverdue(id: string, record: ClusterRecord): boolean {
    const { decision, access } = record;
    const isTold = access?.error !== undefined && access.requestId === accessRequestId(record);
    if (!decision || isTold || awaited.has(id)) return false;
    if (!present.isGoing(decision.namespace)) return !present.hasNamespace(decision.namespace);
    awaited.put(id, decision.namespace);
    return false;
  }

  async function isMissing(id: string): Promise<boolean> {
    const record = clusterRecord(await log.read({ kind: 'cluster', id }));
    const { access } = record;
    if ((wantedAccess(record) ?? 'deprovision') === 'deprovision') return false;
    // Somebody kept it from being made; by now it may be possible.
    if (access?.error?.code === 'OBJECT_TAKEN') return true;
    // While something else is to be done, its event has it done.
    if (planAccess(record, namespaces) !== undefined) return isOverdue(id, record);
    if (!access || !isProvisioned(record)) return false;
    if (present.isLeftAlone(access.namespace)) return false;
    if (!present.hasNamespace(access.namespace)) return true;
    if (!hasAccount(record)) return false;
    const { namespace, uids } = access;
    return !present.hasAccount(namespace, uids);
  }

  /** Those that a record of today's fold says are gone again cost one read each, and only here. */
  async function lookAtAll(): Promise<void> {
    for (const { id, section } of await log.readAll('cluster.*.provisioned')) {
      const { namespace, serviceAccount, uids } = section as Access;
      const isThere =
        present.hasNamespace(namespace) &&
        (serviceAccount === undefined || present.hasAccount(namespace, uids));
      if (!isThere) wakeLater(id);
    }
    let known = 0;
    for (const filter of givingFilters)
      for (const { id, section, sequence } of await log.readAll(filter)) {
        if (lacksNamespace(section as Decision, { namespaces, present })) wakeLater(id);
        if (filter === 'cluster.*.approved') known = Math.max(known, sequence);
      }
    awaited.readOnFrom(known + 1);
  }

  async function look(id: string): Promise<void> {
    if (!present.isSynced()) return;
    if (!(await readEpoch(log)).isReviewed)
      throw new RollcallError('RESTORE_UNREVIEWED', 'the approver has not looked yet at who is still in');
    if (id === everything) return lookAtAll();
    if (!(await isMissing(id))) return;
    await pace();
    backoff.note(id);
    const correlation = createEventId(Date.now());
    tell(await awaited.bringOrWait({ kind: 'cluster', id, type: missing, correlation }));
  }
  const reconciler = createReconciler({ handle: look, logger, concurrency });

  const present = watchPresentObjects(kube, {
    signal,
    onGone: wakeLater,
    onNamespaceGone: (namespace) => awaited.gone(namespace),
    onSynced: () => reconciler.wake(everything),
    onError: (resource, error) =>
      logger.warn({ err: toRollcallError(error), object: resource.plural }, 'watch was interrupted'),
  });
  const awaited = awaitNamespaces({ log, logger, namespaces, present, bring, tell });
  return {
    isSynced: () => present.isSynced(),
    bringOrWait: awaited.bringOrWait,
    async drain() {
      ending.abort(new Error('stopping'));
      for (const timer of due.values()) clearTimeout(timer);
      await present.whenEnded;
      await Promise.all([reconciler.drain(), awaited.drain()]);
    },
  };
}

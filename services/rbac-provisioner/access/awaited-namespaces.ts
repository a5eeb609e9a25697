import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, createEventId, type Decision, type EventDraft } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { planAccess, type NamespaceOwners } from './plan-access.ts';
import { missing, type Wake } from './reconcile-access.ts';
import type { PresentObjects } from './present-objects.ts';

/** For what a replica that died had put aside. */
const readOnAfterMs = 30_000;
/** The one that put it aside has mostly told by then, and the others find nothing to do. */
const othersWaitMs = 1000;
/** By then the watch shows the namespace of whom a replica let in while this one read, mostly. */
const firstLookMs = { own: 1000, others: 5000 };
const longestLookMs = 10 * 60_000;

interface Waiting {
  readonly namespace: string;
  /** What asked for it; absent where another replica was asked. */
  readonly wake?: Wake | undefined;
  readonly looks: number;
}

interface Parts {
  readonly log: Pick<EventLog, 'read' | 'scan'>;
  readonly logger: Logger;
  readonly namespaces: NamespaceOwners;
  readonly present: Pick<PresentObjects, 'hasNamespace' | 'isGoing'>;
  /** Makes Kubernetes fit the record. @throws RollcallError NAMESPACE_TERMINATING */
  bring(wake: Wake): Promise<readonly EventDraft[]>;
  /** What was brought about without an event at hand. */
  tell(drafts: readonly EventDraft[]): void;
}

/** Whether what a decision gives has no namespace yet, or one that Kubernetes is emptying; the record says whether it still gives it. */
export function lacksNamespace(
  decision: Decision,
  { namespaces, present }: Pick<Parts, 'namespaces' | 'present'>,
): boolean {
  const isThere = present.hasNamespace(decision.namespace) && !present.isGoing(decision.namespace);
  return (
    !isThere && planAccess({ decision, identity: undefined, access: undefined }, namespaces) !== undefined
  );
}

export interface AwaitedNamespaces {
  /** Makes Kubernetes fit the record, or puts the cluster aside until its namespace is gone. */
  bringOrWait(wake: Wake): Promise<readonly EventDraft[]>;
  has(clusterId: string): boolean;
  /** Another process may have put it aside. */
  put(clusterId: string, namespace: string): void;
  /** Kubernetes has emptied it. */
  gone(namespace: string): void;
  /** What was approved before is known. */
  readOnFrom(sequence: number): void;
  drain(): Promise<void>;
}

/**
 * Clusters that are to have a namespace which Kubernetes is still emptying: one that leaves and returns, or takes the name of one
 * that left. That takes minutes, or until somebody takes a finalizer off; in the consumer a thousand of them would keep every
 * later event waiting. The watch says when a namespace is gone; one that it does not show (it was not made by us) is looked at
 * ever more rarely. Every replica knows who waits: from the stream at its start (keep-objects.ts), and from what was approved since.
 */
export function awaitNamespaces({ log, logger, namespaces, present, bring, tell }: Parts): AwaitedNamespaces {
  const waiting = new Map<string, Waiting>();
  const timers = new Map<string, NodeJS.Timeout>();
  const looks = createReconciler({ logger, handle: look });
  let isEnding = false;

  function lookIn(clusterId: string, inMs: number): void {
    clearTimeout(timers.get(clusterId));
    if (isEnding) return;
    const due = () => {
      timers.delete(clusterId);
      looks.wake(clusterId);
    };
    timers.set(clusterId, setTimeout(due, inMs));
  }

  function wait(clusterId: string, how: Waiting): void {
    waiting.set(clusterId, how);
    // The watch may have told of its end before this was put aside, or does not know it.
    if (present.isGoing(how.namespace)) return;
    const firstMs = how.wake ? firstLookMs.own : firstLookMs.others;
    lookIn(clusterId, Math.min(firstMs * 2 ** Math.min(how.looks, 10), longestLookMs));
  }

  function end(clusterId: string): void {
    waiting.delete(clusterId);
    clearTimeout(timers.get(clusterId));
    timers.delete(clusterId);
  }

  async function bringOrWait(wake: Wake): Promise<readonly EventDraft[]> {
    try {
      return await bring(wake);
    } catch (error) {
      if (!(error instanceof RollcallError) || error.code !== 'NAMESPACE_TERMINATING') throw error;
      const { decision } = clusterRecord(await log.read({ kind: 'cluster', id: wake.id }));
      if (!decision) throw error;
      const { namespace } = decision;
      const { looks: before = -1 } = waiting.get(wake.id) ?? {};
      wait(wake.id, { namespace, wake, looks: before + 1 });
      logger.info(
        { clusterId: wake.id, object: `namespace/${namespace}` },
        'access waits until its namespace is gone',
      );
      return [];
    }
  }

  async function look(clusterId: string): Promise<void> {
    const known = waiting.get(clusterId);
    if (!known) return;
    const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    const step = planAccess(record, namespaces);
    if (step !== undefined && step !== 'deprovision') {
      const wake = known.wake ?? {
        kind: 'cluster',
        id: clusterId,
        type: missing,
        correlation: createEventId(Date.now()),
      };
      tell(await bringOrWait(wake));
      if (waiting.get(clusterId) !== known) return;
    }
    end(clusterId);
  }

  function put(clusterId: string, namespace: string): void {
    if (!waiting.has(clusterId)) wait(clusterId, { namespace, looks: 0 });
  }

  let next: number | undefined;
  let readingOn: NodeJS.Timeout | undefined;
  let reading: Promise<void> = Promise.resolve();
  async function readOn(): Promise<void> {
    for await (const event of log.scan({ filter: 'cluster.*.approved', fromSequence: next ?? 1 })) {
      if (isEnding) return;
      next = event.sequence + 1;
      const decision = event.section as Decision;
      if (lacksNamespace(decision, { namespaces, present })) put(event.id, decision.namespace);
    }
  }
  function readAgainLater(): void {
    if (isEnding) return;
    readingOn = setTimeout(() => {
      reading = readOn()
        .catch((thrown: unknown) => {
          if (!isEnding) logger.warn({ err: toRollcallError(thrown) }, 'approvals could not be read');
        })
        .finally(readAgainLater);
    }, readOnAfterMs);
  }

  return {
    bringOrWait,
    has: (clusterId) => waiting.has(clusterId),
    put,
    gone(namespace) {
      for (const [clusterId, { namespace: awaited, wake }] of waiting) {
        if (awaited !== namespace) continue;
        if (wake) looks.wake(clusterId);
        else lookIn(clusterId, othersWaitMs * (1 + Math.random()));
      }
    },
    readOnFrom(sequence) {
      const isFirst = next === undefined;
      next = Math.max(next ?? 1, sequence);
      if (isFirst) readAgainLater();
    },
    async drain() {
      isEnding = true;
      clearTimeout(readingOn);
      for (const timer of timers.values()) clearTimeout(timer);
      await reading;
      await looks.drain();
    },
  };
}

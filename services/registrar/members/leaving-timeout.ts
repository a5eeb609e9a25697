import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler, decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, clusterRecord } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { leavingLookAtMs, leftStep } from './end-leaving.ts';
import { AwaitedLeavings } from './leaving-deadlines.ts';

/** For what another replica has put aside, which may have ended since. */
const readOnAfterMs = 30_000;
/** Timers take no more than 24 days. */
const longestTimerMs = 3_600_000;

export interface EndedLeavings {
  /** The cluster may be leaving: it is looked at when the time of its agent is over. */
  putAside(clusterId: string, context: { record: ClusterRecord; nowMs: number }): void;
  stop(): Promise<void>;
}

/**
 * Ends leavings whose agents have not said in time that they are done. What waits for time is in memory and not in the consumer,
 * where a thousand would keep every later event waiting; the stream says what waits, so each replica reads it at its start, and
 * now and then for what a replica that died had taken.
 */
export function endLeavings(
  log: Pick<EventLog, 'read' | 'scan' | 'append'>,
  { logger }: { logger: Logger },
): EndedLeavings {
  const leavings = new AwaitedLeavings();
  let nextLeaving = 1;
  let nextLeft = 1;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let readingOn: NodeJS.Timeout | undefined;

  const looks = createReconciler({ logger, handle: look });

  function putAside(clusterId: string, context: { record: ClusterRecord; nowMs: number }): void {
    const atMs = leavingLookAtMs(context);
    if (atMs === undefined) leavings.end(clusterId);
    else if (atMs > context.nowMs) leavings.put(clusterId, atMs);
    else leavings.putOff(clusterId, { nowMs: context.nowMs, jitter: Math.random() });
    plan();
  }

  async function look(clusterId: string): Promise<void> {
    const aggregate = { kind: 'cluster', id: clusterId } as const;
    const gather = async () => ({ record: clusterRecord(await log.read(aggregate)), nowMs: Date.now() });
    const { identity } = (await gather()).record;
    if (!identity) return;
    const trace = { correlation: identity.request.id };
    const { context, drafts } = await decideAndAppend(log, { gather, decide: leftStep }, trace);
    if (drafts.length === 0) putAside(clusterId, context);
    else leavings.end(clusterId);
  }

  function plan(): void {
    clearTimeout(timer);
    if (isStopped || leavings.nextAtMs === Infinity) return;
    const inMs = Math.max(1, Math.min(leavings.nextAtMs - Date.now(), longestTimerMs));
    timer = setTimeout(() => {
      for (const clusterId of leavings.takeDue(Date.now())) looks.wake(clusterId);
      plan();
    }, inMs);
  }

  /** Ends after beginnings, so that no leaving is kept whose end was read before it. */
  async function readOn(): Promise<void> {
    for await (const event of log.scan({ filter: 'cluster.*.leaving', fromSequence: nextLeaving })) {
      if (isStopped) return;
      const { leaveUntilMs = Date.now() } = event.section as { leaveUntilMs?: number };
      leavings.put(event.id, leaveUntilMs);
      begunAt.set(event.id, event.sequence);
      nextLeaving = event.sequence + 1;
    }
    for await (const { id, sequence } of log.scan({ filter: 'cluster.*.left', fromSequence: nextLeft })) {
      if (isStopped) return;
      if (sequence > (begunAt.get(id) ?? 0)) leavings.end(id);
      nextLeft = sequence + 1;
    }
    begunAt.clear();
  }
  /** Which event began it, while ends are read: of a cluster that came back and leaves again, the end of before is none. */
  const begunAt = new Map<string, number>();

  let reading: Promise<void> = Promise.resolve();
  function read(): void {
    reading = readOn()
      .catch((thrown: unknown) => {
        if (!isStopped) logger.warn({ err: toRollcallError(thrown) }, 'leavings could not be read');
      })
      .finally(() => {
        plan();
        if (!isStopped) readingOn = setTimeout(read, readOnAfterMs);
      });
  }
  read();

  return {
    putAside,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      clearTimeout(readingOn);
      await reading;
      await looks.drain();
    },
  };
}

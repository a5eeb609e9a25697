import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@rollcall/shared/bus';
import { departuresAtOnce } from '@rollcall/shared/decisions';
import { RollcallError } from '@rollcall/shared/errors';
import { clusterRecord, type ClusterRecord, type EventDraft } from '@rollcall/shared/events';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import {
  type MadeUpBy,
  type MadeUpCluster,
  madeUpEnd,
  madeUpLeaving,
  madeUpSteps,
} from './made-up-history.ts';
import type { SimulatorConnection } from './simulator-bus.ts';

/**
 * Batches of one connection's clusters under way: the server takes 50 at once, from everybody. More of them only make each cluster's
 * history longer, and the services look at it once more.
 */
const batchesAtOnce = 5;
/** A NATS server that starts again, or three that elect a leader, are away for some seconds. */
const triesForMs = 60_000;
const longestWaitMs = 1000;

type Log = Pick<EventLog, 'read' | 'append'>;

async function recordsOf(log: Log, ids: readonly string[]): Promise<ClusterRecord[]> {
  return Promise.all(ids.map(async (id) => clusterRecord(await log.read({ kind: 'cluster', id }))));
}

/** All of a connection's clusters in one batch; again when somebody was faster, and while the bus does not answer. */
async function appendForAll(
  log: Log,
  ids: readonly string[],
  { run, decide }: { run: string; decide: (record: ClusterRecord, index: number) => EventDraft[] },
): Promise<void> {
  const untilMs = performance.now() + triesForMs;
  for (let tries = 1; ; tries++) {
    try {
      const records = await recordsOf(log, ids);
      return await log.append(records.flatMap(decide), { correlation: run });
    } catch (thrown) {
      const mayHelp = thrown instanceof RollcallError && thrown.retry;
      if (!mayHelp || performance.now() > untilMs) throw thrown;
      await delay(Math.min(50 * tries, longestWaitMs));
    }
  }
}

/**
 * Makes clusters known to the hub as if they had joined.
 * @throws RollcallError APPEND_CONFLICT, BUS_UNREACHABLE
 */
export async function makeUp(
  connections: readonly SimulatorConnection[],
  clusters: ReadonlyMap<string, MadeUpCluster>,
  by: Omit<MadeUpBy, 'nowMs'>,
): Promise<void> {
  await inParallel(connections, batchesAtOnce, async ({ log, clusterIds }) => {
    const wanted = clusterIds.flatMap((id) => clusters.get(id) ?? []);
    const ids = wanted.map(({ id }) => id);
    for (const [made, step] of madeUpSteps.entries())
      await appendForAll(log, ids, {
        run: by.run,
        decide(record, index) {
          const cluster = wanted[index];
          const isNext = Object.keys(record.lastOf).length === made;
          return cluster && isNext ? [step(record, cluster, { ...by, nowMs: Date.now() })] : [];
        },
      });
  });
}

interface LeavingPace {
  readonly run: string;
  /** The hub's own, when the next of a mass is decided about. */
  turn(): Promise<void>;
  onLeaving(clusterId: string): void;
  /** Nobody else begins to leave after it. */
  readonly signal: AbortSignal;
}

/** Has clusters that are made up leave, as many at a time as a hub decides about; real ones are left alone. */
export async function beginLeaving(
  connections: readonly Pick<SimulatorConnection, 'log' | 'clusterIds'>[],
  { run, turn, onLeaving, signal }: LeavingPace,
): Promise<void> {
  const all = connections.flatMap(({ log, clusterIds }) => clusterIds.map((id) => ({ log, id })));
  await inParallel(all, departuresAtOnce, async ({ log, id }) => {
    if (signal.aborted) return;
    await turn();
    if (signal.aborted) return;
    await appendForAll(log, [id], { run, decide: (record) => madeUpLeaving(record, Date.now()) });
    onLeaving(id);
  });
}

/** Ends clusters that are made up; real ones are left alone. */
export async function takeAway(connections: readonly SimulatorConnection[], run: string): Promise<void> {
  await inParallel(connections, batchesAtOnce, ({ log, clusterIds }) =>
    appendForAll(log, clusterIds, { run, decide: madeUpEnd }),
  );
}

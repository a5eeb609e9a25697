import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { type ClusterRecord, clusterRecord, createEventId, type EventDraft } from '@rollcall/shared/events';
import { inSpan } from '@rollcall/shared/tracing';
import type { FlapSettings } from '../members/flap-rule.ts';
import { type HubClock, toHubTime } from '../engine/hub-clock.ts';
import { decideLiveness, type LivenessFinding } from '../members/liveness-event.ts';
import type { TransitionWish } from '../engine/liveness-signals.ts';
import { membershipOf } from '../members/membership.ts';

export interface LotParts {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly clock: HubClock;
  readonly flap: FlapSettings;
  /** Is told from which record a wish is being decided: of one whose answer was lost nothing else tells. */
  decidedFrom?(wish: TransitionWish, record: ClusterRecord): void;
  /** The wish as it stands now, asked right before each try to write it; undefined: it is over, and nothing comes of it. */
  stillWished?(wish: TransitionWish): TransitionWish | undefined;
}

/** What became of a wish. */
export interface LotOutcome {
  readonly wish: TransitionWish;
  /** From which it was decided. */
  readonly record: ClusterRecord;
  /** Undefined: the record lets nothing follow from the wish. */
  readonly written: EventDraft | undefined;
}

export async function readCluster(log: Pick<EventLog, 'read'>, clusterId: string): Promise<ClusterRecord> {
  return clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
}

/**
 * Joining ends the trace of the agent's request, which the admission carries; later transitions begin one of their own.
 * @param lot.done - the step lasts until then
 */
async function traceOf(
  wish: TransitionWish,
  record: ClusterRecord,
  { nowMs, done }: { nowMs: number; done: Promise<unknown> },
): Promise<Trace> {
  const isJoining = wish.state === 'ready' && !membershipOf(record)?.liveness;
  const admission = isJoining ? record.lastOf.registrar : undefined;
  if (!admission) return { correlation: createEventId(nowMs) };
  const { correlation } = admission;
  const step = {
    name: 'heartbeat joined',
    kind: 'internal',
    traceparent: admission.traceparent,
    attributes: {
      'rollcall.service': 'heartbeat',
      'rollcall.event.id': wish.clusterId,
      'rollcall.correlation': correlation,
    },
  } as const;
  return new Promise((resolve) => {
    const whole = inSpan(step, (traceparent) => {
      resolve({ correlation, traceparent });
      return done;
    });
    // Whoever waits for the lot hears of it.
    whole.catch(() => undefined);
  });
}

/**
 * Writes what follows from wishes about different clusters in one append, all or none: each by itself costs the server a write to
 * its disk that nothing else goes on beside (ADR 8). Of a wish that is over by then there is no outcome.
 * @throws RollcallError APPEND_CONFLICT after too many lost races, BUS_UNREACHABLE, or why one of the records cannot be read
 */
export async function writeLot(lot: readonly TransitionWish[], parts: LotParts): Promise<LotOutcome[]> {
  const { log, clock, flap } = parts;
  const findingOf = ({ from, state, cause, lastBeatMs }: TransitionWish): LivenessFinding => {
    return { from, state, cause, flap, nowMs: clock.hubMs(), lastBeatAtMs: toHubTime(clock, lastBeatMs) };
  };

  const { promise: done, resolve: end } = Promise.withResolvers<void>();
  const nowMs = clock.hubMs();
  const traces = new Map<TransitionWish, Trace>();
  let wishes = lot;
  let outcomes: LotOutcome[] = [];
  const work = decideAndAppend(
    log,
    {
      async gather() {
        const read = await Promise.all(
          wishes.map(async (wish) => {
            const record = await readCluster(log, wish.clusterId);
            const trace = traces.get(wish) ?? (await traceOf(wish, record, { nowMs, done }));
            traces.set(wish, trace);
            return { asked: wish, record, trace };
          }),
        );
        // Now and not before: what was read, and lost races, took their time.
        const current = read.flatMap(({ asked, ...one }) => {
          const wish = parts.stillWished ? parts.stillWished(asked) : asked;
          return wish ? [{ ...one, asked, wish }] : [];
        });
        wishes = current.map(({ asked }) => asked);
        for (const { wish, record } of current) parts.decidedFrom?.(wish, record);
        return current.map((one) => ({ ...one, finding: findingOf(one.wish) }));
      },
      decide(gathered) {
        outcomes = gathered.map(({ wish, record, finding, trace }) => {
          const [draft] = decideLiveness(record, finding);
          return { wish, record, written: draft && { ...draft, trace } };
        });
        return outcomes.flatMap(({ written }) => written ?? []);
      },
    },
    { correlation: createEventId(nowMs) },
  );
  end(work.then(() => undefined));
  // Of a lot in which nobody joins no step waits for it; whoever waits for the lot hears of a failure.
  done.catch(() => undefined);
  await work;
  return outcomes;
}

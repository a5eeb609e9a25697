import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { type ClusterRecord, clusterRecord, createEventId, type EventDraft } from '@rollcall/shared/events';
import { inSpan } from '@rollcall/shared/tracing';
import type { FlapSettings } from '../members/flapping.ts';
import { type HubClock, toHubTime } from '../engine/hub-clock.ts';
import { decideLiveness, type LivenessFinding } from '../members/decide-liveness.ts';
import type { ProposedTransition } from '../engine/liveness-signals.ts';
import { membershipOf } from '../members/membership.ts';

export interface BatchParts {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly clock: HubClock;
  readonly flap: FlapSettings;
  /** Is told from which record a proposal is being decided: of one whose answer was lost nothing else tells. */
  decidedFrom?(proposal: ProposedTransition, record: ClusterRecord): void;
  /** The proposal as it stands now, asked right before each try to write it; undefined: it is over, and nothing comes of it. */
  stillProposed?(proposal: ProposedTransition): ProposedTransition | undefined;
}

/** What became of a proposal. */
export interface BatchOutcome {
  readonly proposal: ProposedTransition;
  /** From which it was decided. */
  readonly record: ClusterRecord;
  /** Undefined: the record lets nothing follow from the proposal. */
  readonly written: EventDraft | undefined;
}

export async function readCluster(log: Pick<EventLog, 'read'>, clusterId: string): Promise<ClusterRecord> {
  return clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
}

/**
 * Joining ends the trace of the agent's request, which the admission carries; later transitions begin one of their own.
 * @param batch.done - the step lasts until then
 */
async function traceOf(
  proposal: ProposedTransition,
  record: ClusterRecord,
  { nowMs, done }: { nowMs: number; done: Promise<unknown> },
): Promise<Trace> {
  const isJoining = proposal.state === 'ready' && !membershipOf(record)?.liveness;
  const admission = isJoining ? record.lastOf.registrar : undefined;
  if (!admission) return { correlation: createEventId(nowMs) };
  const { correlation } = admission;
  const step = {
    name: 'heartbeat joined',
    kind: 'internal',
    traceparent: admission.traceparent,
    attributes: {
      'rollcall.service': 'heartbeat',
      'rollcall.event.id': proposal.clusterId,
      'rollcall.correlation': correlation,
    },
  } as const;
  return new Promise((resolve) => {
    const whole = inSpan(step, (traceparent) => {
      resolve({ correlation, traceparent });
      return done;
    });
    // Whoever waits for the batch hears of it.
    whole.catch(() => undefined);
  });
}

/**
 * Writes what follows from proposals about different clusters in one append, all or none: each by itself costs the server a write to
 * its disk that nothing else goes on beside (ADR 8). Of a proposal that is over by then there is no outcome.
 * @throws RollcallError APPEND_CONFLICT after too many lost races, BUS_UNREACHABLE, or why one of the records cannot be read
 */
export async function writeBatch(
  batch: readonly ProposedTransition[],
  parts: BatchParts,
): Promise<BatchOutcome[]> {
  const { log, clock, flap } = parts;
  const findingOf = ({ from, state, cause, lastHeartbeatMs }: ProposedTransition): LivenessFinding => {
    return {
      from,
      state,
      cause,
      flap,
      nowMs: clock.hubMs(),
      lastHeartbeatAtMs: toHubTime(clock, lastHeartbeatMs),
    };
  };

  const { promise: done, resolve: end } = Promise.withResolvers<void>();
  const nowMs = clock.hubMs();
  const traces = new Map<ProposedTransition, Trace>();
  let proposals = batch;
  let outcomes: BatchOutcome[] = [];
  const work = decideAndAppend(
    log,
    {
      async gather() {
        const read = await Promise.all(
          proposals.map(async (proposal) => {
            const record = await readCluster(log, proposal.clusterId);
            const trace = traces.get(proposal) ?? (await traceOf(proposal, record, { nowMs, done }));
            traces.set(proposal, trace);
            return { asked: proposal, record, trace };
          }),
        );
        // Now and not before: what was read, and lost races, took their time.
        const current = read.flatMap(({ asked, ...one }) => {
          const proposal = parts.stillProposed ? parts.stillProposed(asked) : asked;
          return proposal ? [{ ...one, asked, proposal }] : [];
        });
        proposals = current.map(({ asked }) => asked);
        for (const { proposal, record } of current) parts.decidedFrom?.(proposal, record);
        return current.map((one) => ({ ...one, finding: findingOf(one.proposal) }));
      },
      decide(gathered) {
        outcomes = gathered.map(({ proposal, record, finding, trace }) => {
          const [draft] = decideLiveness(record, finding);
          return { proposal, record, written: draft && { ...draft, trace } };
        });
        return outcomes.flatMap(({ written }) => written ?? []);
      },
    },
    { correlation: createEventId(nowMs) },
  );
  end(work.then(() => undefined));
  // Of a batch in which nobody joins no step waits for it; whoever waits for the batch hears of a failure.
  done.catch(() => undefined);
  await work;
  return outcomes;
}

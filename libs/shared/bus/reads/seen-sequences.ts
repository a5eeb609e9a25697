import type { NatsConnection } from '@nats-io/transport-node';
import { type AggregateId, aggregateSubjects } from '@rollcall/shared/events';

/** Twice as many as can be on their way to one process at once (`max_ack_pending`). */
const most = 8192;

/**
 * What this process knows to be in the stream: events that were delivered to it, and its own. Any replica of a stream may answer
 * a read, and one that was just restarted knows less; who decides "nothing to do" from what it says, and acknowledges, loses the
 * event for good (found by chaos on three servers).
 */
export interface SeenSequences {
  note(event: AggregateId & { readonly type: string }, sequence: number): void;
  /** 0: nothing is known. */
  of(aggregate: AggregateId): number;
  /** Of all that was noted. */
  newest(): SeenEvent | undefined;
  /** What came after it is not there any more: the stream has lost its tail. */
  forgetAfter(sequence: number): void;
}

export interface SeenEvent {
  readonly subject: string;
  readonly sequence: number;
}

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

export function createSeenSequences(): SeenSequences {
  const sequences = new Map<string, number>();
  let newest: SeenEvent | undefined;
  return {
    note(event, sequence) {
      const name = nameOf(event);
      if (sequence > (newest?.sequence ?? 0))
        newest = { subject: aggregateSubjects(event, event.type).subject, sequence };
      const known = Math.max(sequence, sequences.get(name) ?? 0);
      // Taken out first, so that the oldest stand in front.
      sequences.delete(name);
      sequences.set(name, known);
      const [oldest] = sequences.keys();
      if (sequences.size > most && oldest !== undefined) sequences.delete(oldest);
    },
    of: (aggregate) => sequences.get(nameOf(aggregate)) ?? 0,
    newest: () => newest,
    forgetAfter(last) {
      newest = undefined;
      for (const [name, sequence] of sequences) if (sequence > last) sequences.delete(name);
    },
  };
}

const ofConnections = new WeakMap<NatsConnection, SeenSequences>();

/** One for each connection: what consumes over it tells what reads over it. */
export function seenOver(nc: NatsConnection): SeenSequences {
  const known = ofConnections.get(nc) ?? createSeenSequences();
  ofConnections.set(nc, known);
  return known;
}

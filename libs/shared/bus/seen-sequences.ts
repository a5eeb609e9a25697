import type { NatsConnection } from '@nats-io/transport-node';
import type { AggregateId } from '@rollcall/shared/events';

/** More than can be on their way to one process at once (`max_ack_pending`), several times over. */
const most = 8192;

/**
 * What this process knows to be in the stream: events that were delivered to it, and its own. Any replica of a stream may answer
 * a read, and one that was just restarted knows less; who decides "nothing to do" from what it says, and acknowledges, loses the
 * event for good (found by chaos on three servers).
 */
export interface SeenSequences {
  note(aggregate: AggregateId, sequence: number): void;
  /** 0: nothing is known. */
  of(aggregate: AggregateId): number;
}

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

export function createSeenSequences(): SeenSequences {
  const sequences = new Map<string, number>();
  return {
    note(aggregate, sequence) {
      const name = nameOf(aggregate);
      const known = Math.max(sequence, sequences.get(name) ?? 0);
      // Taken out first, so that the oldest stand in front.
      sequences.delete(name);
      sequences.set(name, known);
      const [oldest] = sequences.keys();
      if (sequences.size > most && oldest !== undefined) sequences.delete(oldest);
    },
    of: (aggregate) => sequences.get(nameOf(aggregate)) ?? 0,
  };
}

const ofConnections = new WeakMap<NatsConnection, SeenSequences>();

/** One for each connection: what consumes over it tells what reads over it. */
export function seenOver(nc: NatsConnection): SeenSequences {
  const known = ofConnections.get(nc) ?? createSeenSequences();
  ofConnections.set(nc, known);
  return known;
}

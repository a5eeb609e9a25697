import {
  jetstream,
  JetStreamApiError,
  JetStreamError,
  jetstreamManager,
  type StoredMsg,
} from '@nats-io/jetstream';
import { errors, headers, type MsgHdrs, type NatsConnection, nuid } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import {
  aggregateSubjects,
  type AggregateId,
  type AggregateRecord,
  decodeEvent,
  encodeEvent,
  type EncodedEvent,
  type EventDraft,
  foldRecord,
  type StoredEvent,
} from '@rollcall/shared/events';

/** What set an append off: carried from the agent's request to the last projected status. */
export interface Trace {
  readonly correlation: string;
  readonly traceparent?: string | undefined;
}

/** The history of everything: stream EVENTS. */
export interface EventLog {
  /** The newest event of each type of one aggregate, folded. One read. */
  read(aggregate: AggregateId): Promise<AggregateRecord>;
  /** The newest event of each type of every aggregate that the filter names (`policy.*.*`), at most 1,000 subjects. */
  readAll(filter: string): Promise<StoredEvent[]>;
  /** Events from a sequence on, oldest first, until the end of the stream; undecodable ones are given to `onSkip`. */
  scan(options: {
    filter?: string;
    fromSequence?: number;
    onSkip?: (error: RollcallError) => void;
  }): AsyncIterable<StoredEvent>;
  /**
   * Appends all or none, each at the head it was decided on.
   * @throws RollcallError APPEND_CONFLICT when an aggregate has moved on
   */
  append(drafts: readonly EventDraft[], trace: Trace): Promise<void>;
}

const stream = 'EVENTS';
/** "wrong last sequence", and the same while another append is in flight (measured at three replicas). */
const conflictCodes = new Set([10_071, 10_164]);
/** Too many batches at once: nothing was stored. */
const batchLimitCodes = new Set([10_210, 10_176]);
const scanBatch = 500;

function decodeStored(message: StoredMsg): StoredEvent {
  return decodeEvent({
    subject: message.subject,
    sequence: message.seq,
    header: (name) => message.header.get(name),
    data: message.data,
  });
}

function toHeaders(event: EncodedEvent): MsgHdrs {
  const all = headers();
  for (const [name, value] of Object.entries(event.headers)) all.set(name, value);
  all.set('Nats-Expected-Last-Subject-Sequence', String(event.expectedSequence));
  all.set('Nats-Expected-Last-Subject-Sequence-Subject', event.filter);
  return all;
}

/**
 * Our words for what the bus says. An append whose answer was lost may have been stored: whoever gets BUS_UNREACHABLE reads
 * the aggregate again before it decides again.
 */
function asRollcallError(cause: unknown): unknown {
  if (cause instanceof JetStreamApiError) {
    const isLostRace = conflictCodes.has(cause.code) || batchLimitCodes.has(cause.code);
    return isLostRace ? new RollcallError('APPEND_CONFLICT', 'another writer was faster', { cause }) : cause;
  }
  if (cause instanceof RollcallError || cause instanceof errors.PermissionViolationError) return cause;
  const isBusAway =
    cause instanceof errors.TimeoutError ||
    cause instanceof errors.RequestError ||
    cause instanceof errors.ConnectionError ||
    cause instanceof errors.ClosedConnectionError ||
    cause instanceof errors.DrainingConnectionError ||
    cause instanceof JetStreamError;
  return isBusAway
    ? new RollcallError('BUS_UNREACHABLE', `the bus did not answer: ${cause.message}`, { cause })
    : cause;
}

/** The server's word for "no message from there on"; the library throws it although it is an ordinary end. */
function isNothingThere(cause: unknown): boolean {
  return cause instanceof JetStreamError && 'code' in cause && cause.code === 404;
}

/** @param options.source - CloudEvents source, `/rollcall/<service>` */
export async function openEventLog(
  nc: NatsConnection,
  options: { epoch: number; source: string; nowMs?: () => number },
): Promise<EventLog> {
  const js = jetstream(nc);
  const { direct } = await jetstreamManager(nc, { checkAPI: false });
  const nowMs = options.nowMs ?? Date.now;

  async function lastOf(subject: string): Promise<StoredEvent[]> {
    const found: StoredEvent[] = [];
    try {
      for await (const message of await direct.getLastMessagesFor(stream, {
        multi_last: [subject],
        batch: 1000,
      })) {
        found.push(decodeStored(message));
      }
    } catch (cause) {
      throw asRollcallError(cause);
    }
    return found;
  }

  /** All but the last are sent ahead; only the commit waits for an answer (one round trip, measured with 400 at once). */
  async function appendBatch(events: readonly EncodedEvent[]): Promise<void> {
    const batchId = nuid.next();
    for (const [index, event] of events.entries()) {
      const all = toHeaders(event);
      all.set('Nats-Batch-Id', batchId);
      all.set('Nats-Batch-Sequence', String(index + 1));
      if (index < events.length - 1) {
        nc.publish(event.subject, event.body, { headers: all });
        continue;
      }
      all.set('Nats-Batch-Commit', '1');
      await js.publish(event.subject, event.body, { headers: all });
    }
  }

  return {
    read: async (aggregate) => foldRecord(aggregate, await lastOf(aggregateSubjects(aggregate).subject)),
    readAll: (filter) => lastOf(`rollcall.events.${filter}`),
    async *scan({ filter = '>', fromSequence = 1, onSkip }) {
      let next = fromSequence;
      for (;;) {
        let seen = 0;
        const batch = await direct.getBatch(stream, {
          seq: next,
          batch: scanBatch,
          next_by_subj: `rollcall.events.${filter}`,
        });
        try {
          for await (const message of batch) {
            seen++;
            next = message.seq + 1;
            let event: StoredEvent;
            try {
              event = decodeStored(message);
            } catch (error) {
              if (!(error instanceof RollcallError)) throw error;
              onSkip?.(error);
              continue;
            }
            yield event;
          }
        } catch (cause) {
          if (isNothingThere(cause)) return;
          throw asRollcallError(cause);
        }
        if (seen < scanBatch) return;
      }
    },
    async append(drafts, trace) {
      const stamp = { epoch: options.epoch, source: options.source, nowMs: nowMs(), ...trace };
      const events = drafts.map((draft) => encodeEvent(draft, stamp));
      const [first] = events;
      if (!first) return;
      try {
        if (events.length > 1) await appendBatch(events);
        else await js.publish(first.subject, first.body, { headers: toHeaders(first) });
      } catch (cause) {
        throw asRollcallError(cause);
      }
    },
  };
}

import { jetstream, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import { headers, type MsgHdrs, type NatsConnection, nuid } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import {
  aggregateSubjects,
  type AggregateId,
  type AggregateRecord,
  decodeEvent,
  digestOf,
  encodeEvent,
  type EncodedEvent,
  type EventDraft,
  foldRecord,
  type Head,
  type StoredEvent,
} from '@rollcall/shared/events';
import { asBusError } from './bus-error.ts';
import { directGet } from './direct-get.ts';

/** What set an append off: carried from the agent's request to the last projected status. */
export interface Trace {
  readonly correlation: string;
  readonly traceparent?: string | undefined;
}

/** The history of everything: stream EVENTS. */
export interface EventLog {
  /**
   * The newest event of each type of one aggregate, folded. One read. Garbage on its subjects (a writer of one type could
   * have been taken over) is no part of the record, but the next event is appended after it.
   * @throws RollcallError EVENT_VERSION_UNKNOWN while a newer Rollcall's event is among them, BUS_UNREACHABLE
   */
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
const scanBatch = 500;

function decodeStored(message: StoredMsg): StoredEvent {
  return decodeEvent({
    subject: message.subject,
    sequence: message.seq,
    header: (name) => message.header.get(name),
    data: message.data,
  });
}

/** Where garbage stands: whatever comes next must be appended after it, or the aggregate could never go on. */
function garbageHead(message: StoredMsg, epoch: number): Head {
  const { subject, seq: sequence, data } = message;
  const eventId = message.header.get('ce-id');
  return { epoch, sequence, digest: digestOf(subject, eventId, data) };
}

function toHeaders(event: EncodedEvent): MsgHdrs {
  const all = headers();
  for (const [name, value] of Object.entries(event.headers)) all.set(name, value);
  all.set('Nats-Expected-Last-Subject-Sequence', String(event.expectedSequence));
  all.set('Nats-Expected-Last-Subject-Sequence-Subject', event.filter);
  return all;
}

/** @param options.source - CloudEvents source, `/rollcall/<service>` */
export async function openEventLog(
  nc: NatsConnection,
  options: { epoch: number; source: string; nowMs?: () => number },
): Promise<EventLog> {
  const js = jetstream(nc);
  const { direct } = await jetstreamManager(nc, { checkAPI: false });
  const nowMs = options.nowMs ?? Date.now;

  async function lastOf(subject: string): Promise<StoredMsg[]> {
    return directGet(direct, stream, { multi_last: [subject], batch: 1000 });
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
    async read(aggregate) {
      const messages = await lastOf(aggregateSubjects(aggregate).subject);
      const events: StoredEvent[] = [];
      let garbage: Head | undefined;
      for (const message of messages) {
        try {
          events.push(decodeStored(message));
        } catch (error) {
          if (!(error instanceof RollcallError) || error.code !== 'EVENT_INVALID') throw error;
          if (!garbage || message.seq > garbage.sequence) garbage = garbageHead(message, options.epoch);
        }
      }
      return foldRecord(aggregate, events, garbage);
    },
    readAll: async (filter) => (await lastOf(`rollcall.events.${filter}`)).map(decodeStored),
    async *scan({ filter = '>', fromSequence = 1, onSkip }) {
      let next = fromSequence;
      for (;;) {
        const messages = await directGet(direct, stream, {
          seq: next,
          batch: scanBatch,
          next_by_subj: `rollcall.events.${filter}`,
        });
        for (const message of messages) {
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
        if (messages.length < scanBatch) return;
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
        throw asBusError(cause);
      }
    },
  };
}

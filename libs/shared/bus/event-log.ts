import { jetstream } from '@nats-io/jetstream';
import { headers, type Msg, type MsgHdrs, type NatsConnection, nuid } from '@nats-io/transport-node';
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
  type EventWriter,
  foldRecord,
  type Head,
  type ListedKind,
  parseEventSubject,
  type StoredEvent,
} from '@rollcall/shared/events';
import { aggregateIds, type WalkBeyond } from './reads/aggregate-ids.ts';
import { asBusError } from './bus-error.ts';
import { directGetEach, directGetLast, notGiven } from './reads/direct-get.ts';
import { lastOfAll } from './reads/last-of-all.ts';
import { type LastWord, type LastWordsQuery, readLastWords } from './reads/last-events.ts';
import { messagesUpTo } from './reads/up-to-date.ts';
import { headText, rawMessage, type RawMessage } from './reads/raw-message.ts';
import { aggregates, readTogether } from './reads/read-together.ts';
import { seenOver } from './reads/seen-sequences.ts';
import { isStreamEnd } from './reads/stream-end.ts';
import { isNoConcernOf, isOvertaken, writerOf } from './unreadable-event.ts';
import { streamSize } from './stream-size.ts';

/** What set an append off: carried from the agent's request to the last projected status. */
export interface Trace {
  readonly correlation: string;
  readonly traceparent?: string | undefined;
}

/** An event that this version cannot decode: EVENT_INVALID or EVENT_VERSION_UNKNOWN, and where it stands. */
export interface SkippedEvent extends AggregateId {
  readonly type: string;
  readonly sequence: number;
}
export type OnSkip = (error: RollcallError, event: SkippedEvent) => void;

/** An event that was stored just now. */
export interface HeardEvent extends SkippedEvent {
  /** @returns undefined for what cannot be decoded, which is given to `onSkip` */
  decode(onSkip?: OnSkip): StoredEvent | undefined;
}

/** The history of everything: stream EVENTS. */
export interface EventLog {
  /**
   * The newest event of each type of one aggregate, folded. One read. Garbage on its subjects (a writer of one type could
   * have been taken over) is no part of the record, but the next event is appended after it. It has whatever was delivered to
   * this process over the same connection, and what it wrote itself: a replica that knows less is not believed.
   * @param options.unknownAsGarbage - take a newer Rollcall's event, of any writer or of this one, for garbage: for who ends what it cannot read
   * @throws RollcallError EVENT_VERSION_UNKNOWN while a newer Rollcall's event is the last word of a writer that the reader
   *   listens to, BUS_UNREACHABLE
   */
  read(id: AggregateId, options?: { unknownAsGarbage?: boolean | EventWriter }): Promise<AggregateRecord>;
  /**
   * The newest event of each type of every aggregate that the filter names (`policy.*.*`), however many there are. What
   * cannot be decoded is given to `onSkip` and hides nothing else; what that means is the caller's to say. Of some hundred it
   * has all that is older than the newest event this process was given or wrote; of more, some may be behind.
   */
  readAll(filter: string, options?: { onSkip?: OnSkip }): Promise<StoredEvent[]>;
  /** Everything of some kinds that ever had an event, as it is found, some of it twice; what these events say is not read. */
  aggregates(kinds: readonly ListedKind[]): AsyncIterable<AggregateId>;
  /**
   * The last event of each of some writers, of every aggregate of a kind, in no order; now and then one before it as well. For
   * whoever reads the whole fleet and a few fields of it; what cannot be read is given to `onSkip`, and the one before it counts.
   */
  lastWords(query: LastWordsQuery, take: (word: LastWord) => void): Promise<void>;
  /**
   * Events from a sequence on, oldest first, until the end of the stream; undecodable ones are given to `onSkip`.
   * @param options.isWanted - is asked of each; of what it says no to, nothing is decoded. Default: all
   * @param options.isWhole - the end is that of a server which has the newest event this process was given or wrote
   */
  scan(options: {
    filter?: string;
    fromSequence?: number;
    onSkip?: OnSkip;
    isWanted?: (event: SkippedEvent) => boolean;
    isWhole?: boolean;
  }): AsyncIterable<StoredEvent>;
  /**
   * An event as stream EVENTS publishes it once it is stored (`rollcall.stored.…`). From then on it is known to be there: no read
   * is believed that does not have it. Most hearers need no more than which event it is, and decoding is what costs.
   * @returns undefined for what is no event of any kind there is
   */
  heard(message: Msg): HeardEvent | undefined;
  /**
   * Appends all or none, each at the head it was decided on.
   * @throws RollcallError APPEND_CONFLICT when an aggregate has moved on
   */
  append(drafts: readonly EventDraft[], trace: Trace): Promise<void>;
}

const stream = 'EVENTS';
const scanBatch = 500;

/** @param latestEpoch - see openEventLog */
function decodeStored(message: RawMessage, latestEpoch: number): StoredEvent {
  const event = decodeEvent(message);
  if (event.epoch > latestEpoch) {
    const why = `event ${event.sequence} claims epoch ${event.epoch}; this hub is in epoch ${latestEpoch}`;
    throw new RollcallError('EVENT_INVALID', why);
  }
  return event;
}

/** Decodes what can be; the rest is given to `onSkip`. */
function decodeOrSkip(
  message: RawMessage,
  latestEpoch: number,
  onSkip: OnSkip | undefined,
): StoredEvent | undefined {
  try {
    return decodeStored(message, latestEpoch);
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    const place = parseEventSubject(message.subject);
    // A subject of no kind that there is belongs to no aggregate, and so to nobody.
    if (place) onSkip?.(error, { ...place, sequence: message.sequence });
    return undefined;
  }
}

/** Where garbage stands: whatever comes next must be appended after it, or the aggregate could never go on. */
function garbageHead({ subject, sequence, header, data }: RawMessage, epoch: number): Head {
  return { epoch, sequence, digest: digestOf(subject, header('ce-id'), data) };
}

function toHeaders(event: EncodedEvent): MsgHdrs {
  const all = headers();
  for (const [name, value] of Object.entries(event.headers)) all.set(name, value);
  all.set('Nats-Expected-Last-Subject-Sequence', String(event.expectedSequence));
  all.set('Nats-Expected-Last-Subject-Sequence-Subject', event.filter);
  return all;
}

/**
 * @param options.source - CloudEvents source, `/rollcall/<service>`
 * @param options.latestEpoch - events that claim a later one are garbage. Each event says its own epoch, and the newest epoch
 *   wins everywhere: a writer of one type that was taken over could else overrule all that comes after. Default: any
 * @param options.walkBeyond - from how many on subjects are not listed; default: a million in the stream
 */
export async function openEventLog(
  nc: NatsConnection,
  options: {
    epoch: number;
    source: string;
    latestEpoch?: number;
    nowMs?: () => number;
    walkBeyond?: WalkBeyond;
  },
): Promise<EventLog> {
  const { latestEpoch = Number.MAX_SAFE_INTEGER, walkBeyond } = options;
  const js = jetstream(nc);
  const nowMs = options.nowMs ?? Date.now;
  const seen = seenOver(nc);
  const readLast = readTogether(aggregates, (filters) => directGetLast(nc, stream, filters));

  function lastOf(aggregate: AggregateId): Promise<RawMessage[]> {
    const { subject } = aggregateSubjects(aggregate);
    return orTailIsLost(messagesUpTo(seen.of(aggregate), () => readLast(subject)));
  }

  /** What a server that answers alone must have: only servers in a cluster can be behind each other. */
  const leastKnown = () => (nc.info?.cluster === undefined ? undefined : seen.newest());

  /** A stream that has lost its tail never has what this process knows of it: that is said once, and not waited for again. */
  async function orTailIsLost<Result>(reading: Promise<Result>): Promise<Result> {
    try {
      return await reading;
    } catch (error) {
      const newest = seen.newest();
      if (!newest || !(error instanceof RollcallError) || error.code !== 'BUS_UNREACHABLE') throw error;
      // Who may not ask, or is not answered, does not know, and tells what was wrong at first.
      const { lastSequence = Infinity } = (await streamSize(nc, stream)) ?? {};
      if (lastSequence >= newest.sequence) throw error;
      seen.forgetAfter(lastSequence);
      const what = `the stream ends at event ${lastSequence}, and event ${newest.sequence} was there: its tail is lost`;
      throw new RollcallError('BUS_UNREACHABLE', what, { cause: error });
    }
  }

  function noteOwn(drafts: readonly EventDraft[], lastSequence: number): void {
    // Those of one batch follow each other.
    for (const [index, { aggregate, definition }] of drafts.entries())
      seen.note({ ...aggregate, type: definition.type }, lastSequence - (drafts.length - 1) + index);
  }

  /** All but the last are sent ahead; only the commit waits for an answer (one round trip, measured with 400 at once). */
  async function appendBatch(events: readonly EncodedEvent[]): Promise<number> {
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
      const { seq } = await js.publish(event.subject, event.body, { headers: all });
      return seq;
    }
    return 0;
  }

  return {
    async read(aggregate, { unknownAsGarbage = false } = {}) {
      const events: StoredEvent[] = [];
      const newerVersions: { error: RollcallError; event: SkippedEvent & { source: string } }[] = [];
      let garbage: Head | undefined;
      for (const message of await lastOf(aggregate)) {
        const event = decodeOrSkip(message, latestEpoch, (error, skipped) => {
          const source = message.header('ce-source');
          if (error.code === 'EVENT_VERSION_UNKNOWN')
            newerVersions.push({ error, event: { ...skipped, source } });
        });
        if (event) events.push(event);
        else if (!garbage || message.sequence > garbage.sequence)
          garbage = garbageHead(message, options.epoch);
      }
      const last = newerVersions.find(
        ({ event }) =>
          !isOvertaken(event, events) &&
          !isNoConcernOf(options.source, event) &&
          unknownAsGarbage !== writerOf(event),
      );
      if (last && unknownAsGarbage !== true) throw last.error;
      return foldRecord(aggregate, events, garbage);
    },
    async readAll(filter, { onSkip } = {}) {
      const wanted = `rollcall.events.${filter}`;
      const messages = await orTailIsLost(lastOfAll(nc, stream, wanted, { least: leastKnown(), walkBeyond }));
      return messages.flatMap((message) => decodeOrSkip(message, latestEpoch, onSkip) ?? []);
    },
    async *aggregates(kinds) {
      for (const kind of kinds)
        for await (const id of aggregateIds(nc, stream, { kind, walkBeyond })) yield { kind, id };
    },
    lastWords(query, take) {
      const decode = (message: RawMessage) => decodeStored(message, latestEpoch);
      return readLastWords({ nc, stream, latestEpoch, walkBeyond }, { ...query, decode }, take);
    },
    async *scan({ filter = '>', fromSequence = 1, onSkip, isWanted, isWhole = false }) {
      const subjects = `rollcall.events.${filter}`;
      let next = fromSequence;
      let pending = 0;
      for (;;) {
        const messages: RawMessage[] = [];
        const take = (message: RawMessage) => void messages.push(message);
        const page = { seq: next, batch: scanBatch, next_by_subj: subjects, take };
        const isMore = pending > 0;
        pending = await directGetEach(nc, stream, page);
        if (isMore && messages.length === 0) throw notGiven(stream, next);
        for (const message of messages) {
          next = message.sequence + 1;
          const place = isWanted && parseEventSubject(message.subject);
          if (place && !isWanted({ ...place, sequence: message.sequence })) continue;
          const event = decodeOrSkip(message, latestEpoch, onSkip);
          if (event) yield event;
        }
        if (messages.length === scanBatch) continue;
        const end = { filter: subjects, from: next, least: isWhole ? leastKnown() : undefined };
        if (await orTailIsLost(isStreamEnd(nc, stream, end))) return;
      }
    },
    heard(message) {
      const raw = rawMessage(message, headText(message));
      const place = raw && parseEventSubject(raw.subject);
      if (!place) return undefined;
      const { sequence } = raw;
      seen.note(place, sequence);
      return { ...place, sequence, decode: (onSkip) => decodeOrSkip(raw, latestEpoch, onSkip) };
    },
    async append(drafts, trace) {
      const stamp = { epoch: options.epoch, source: options.source, nowMs: nowMs(), ...trace };
      const events = drafts.map((draft) => encodeEvent(draft, stamp));
      const [first] = events;
      if (!first) return;
      try {
        const sequence =
          events.length > 1
            ? await appendBatch(events)
            : (await js.publish(first.subject, first.body, { headers: toHeaders(first) })).seq;
        noteOwn(drafts, sequence);
      } catch (cause) {
        throw asBusError(cause);
      }
    },
  };
}

import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  eventCatalogue,
  type EventWriter,
  eventTypeName,
  type ListedKind,
  parseEventSubject,
  type StoredEvent,
} from '@rollcall/shared/events';
import { idsWith, type WalkBeyond } from './aggregate-ids.ts';
import type { OnSkip } from '../event-log.ts';
import { readLastMessages } from './last-messages.ts';
import { countEvents, subjectsInPage } from './list-subjects.ts';
import { type RawMessage, textOf } from './raw-message.ts';

/** The last event of a writer about an aggregate, as it stands in the stream: no schema has seen its section. */
export interface LastWord extends AggregateId {
  readonly type: string;
  readonly writer: EventWriter;
  readonly sequence: number;
  /** Parsed, and that is all. */
  readonly section: unknown;
  /**
   * The whole event, checked, with the defaults of its schema.
   * @throws RollcallError EVENT_INVALID
   */
  decode(): StoredEvent;
}

export interface LastWordsQuery {
  readonly kind: ListedKind;
  readonly writers: readonly EventWriter[];
  /** Of the aggregates that have an event of this type. */
  readonly having: string;
  /** A type whose only event is older than `having` where there is one, and says nothing more. */
  readonly before?: string;
  readonly isWanted?: (id: string) => boolean;
  readonly onSkip?: OnSkip;
}

interface Bus {
  readonly nc: NatsConnection;
  readonly stream: 'EVENTS';
  readonly walkBeyond?: WalkBeyond | undefined;
}

/**
 * The subjects of these types that aggregates have, those of one together. A type that most may have is named for all, and each type
 * where there are many aggregates: one that is not there costs less than a list.
 */
async function subjectsOf(
  { nc, stream, walkBeyond }: Bus,
  of: {
    kind: ListedKind;
    having: string;
    before: string | undefined;
    isWanted: (id: string) => boolean;
    types: readonly string[];
  },
): Promise<Iterable<string>> {
  const { kind, having, before, isWanted, types } = of;
  const ids = new Map<string, string[]>();
  for (const id of (await idsWith(nc, stream, { kind, type: having, walkBeyond })).keys())
    if (isWanted(id)) ids.set(id, []);
  const ofAll: string[] = [];
  for (const type of types) {
    if (type === having || ids.size > subjectsInPage) {
      ofAll.push(type);
      continue;
    }
    const count = await countEvents(nc, stream, `rollcall.events.${kind}.*.${type}`);
    if (type !== before && count > 0 && count * 2 >= ids.size) ofAll.push(type);
    else if (count > 0)
      for (const [id, ofId] of await idsWith(nc, stream, { kind, type, walkBeyond }))
        if (type !== before || ofId > 1) ids.get(id)?.push(type);
  }
  return (function* names() {
    for (const [id, ofOne] of ids)
      for (const type of [...ofAll, ...ofOne]) yield `rollcall.events.${kind}.${id}.${type}`;
  })();
}

/** @param decode - of a message, as the log decodes all of them */
export async function readLastWords(
  bus: Bus & { latestEpoch: number },
  query: LastWordsQuery & { decode(message: RawMessage): StoredEvent },
  take: (word: LastWord) => void,
): Promise<void> {
  const { nc, stream, latestEpoch } = bus;
  const { kind, having, before, isWanted = () => true, decode, onSkip } = query;
  const known = new Map(
    eventCatalogue
      .filter((definition) => definition.kind === kind && query.writers.includes(definition.writer))
      .map((definition) => [
        definition.type,
        { writer: definition.writer, typeName: eventTypeName(definition) },
      ]),
  );

  function read(message: RawMessage, place: AggregateId & { type: string }, of: Known): LastWord {
    // Whatever is out of the ordinary is for the decoder to say.
    if (message.header('ce-type') !== of.typeName) decode(message);
    const { epoch, section } = JSON.parse(textOf(message)) as {
      epoch?: unknown;
      section?: unknown;
    };
    if (typeof epoch !== 'number' || epoch > latestEpoch) decode(message);
    const { writer } = of;
    return { ...place, writer, sequence: message.sequence, section, decode: () => decode(message) };
  }
  /** @returns whether it could be read */
  function readOrSkip(message: RawMessage, place: AggregateId & { type: string }, of: Known): boolean {
    try {
      take(read(message, place, of));
      return true;
    } catch (thrown) {
      const error =
        thrown instanceof RollcallError
          ? thrown
          : new RollcallError('EVENT_INVALID', `event ${message.sequence} cannot be read`, { cause: thrown });
      onSkip?.(error, { ...place, sequence: message.sequence });
      return false;
    }
  }
  function takeLast(messages: readonly RawMessage[]): void {
    const spoken = new Set<string>();
    for (const message of messages.toReversed()) {
      const place = parseEventSubject(message.subject);
      const of = place && known.get(place.type);
      if (!of) continue;
      const who = `${place.id} ${of.writer}`;
      if (!spoken.has(who) && readOrSkip(message, place, of)) spoken.add(who);
    }
  }
  const subjects = await subjectsOf(bus, { kind, having, before, isWanted, types: [...known.keys()] });
  await readLastMessages(nc, { stream, subjects }, takeLast);
}

interface Known {
  readonly writer: EventWriter;
  readonly typeName: string;
}

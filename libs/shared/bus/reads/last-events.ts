import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  aggregateSubjects,
  archiveAggregate,
  archived,
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
  /**
   * Whether what the others have said of an aggregate says what the writer of `having` did as well: of one that ever had a single event
   * of that type, and of the same writer no other but one `before`. Asked once all that the others said was given. Default: no.
   */
  readonly isSpared?: (id: string) => boolean;
  readonly onSkip?: OnSkip;
}

interface Bus {
  readonly nc: NatsConnection;
  readonly stream: 'EVENTS';
  readonly walkBeyond?: WalkBeyond | undefined;
}

/** A type, and which aggregates have events of it. */
interface TypeOfSome {
  readonly type: string;
  /** Some that have none as well, where one that is not there costs less than a list. */
  has(id: string): boolean;
}

/** Of these types those that aggregates have events of: a type that most may have is taken for one that all have, and each type where there are many aggregates. */
async function typesWithEvents(
  { nc, stream, walkBeyond }: Bus,
  of: {
    kind: ListedKind;
    types: readonly string[];
    ids: ReadonlyMap<string, number>;
    having: string;
    before: string | undefined;
  },
): Promise<TypeOfSome[]> {
  const { kind, types, ids, having, before } = of;
  const found: TypeOfSome[] = [];
  for (const type of types) {
    if (type === having || ids.size > subjectsInPage) {
      found.push({ type, has: () => true });
      continue;
    }
    const count = await countEvents(nc, stream, `rollcall.events.${kind}.*.${type}`);
    if (count === 0) continue;
    if (type !== before && count * 2 >= ids.size) {
      found.push({ type, has: () => true });
      continue;
    }
    const counts = await idsWith(nc, stream, { kind, type, walkBeyond });
    const least = type === before ? 2 : 1;
    found.push({ type, has: (id) => (counts.get(id) ?? 0) >= least });
  }
  return found;
}

function* subjectsOf(kind: ListedKind, ids: Iterable<string>, types: readonly TypeOfSome[]) {
  for (const id of ids)
    for (const { type, has } of types) if (has(id)) yield `rollcall.events.${kind}.${id}.${type}`;
}

/** Whether a count of events says how many there ever were. */
async function isHistoryWhole(nc: NatsConnection, stream: string): Promise<boolean> {
  const { subject } = aggregateSubjects(archiveAggregate, archived.type);
  return (await countEvents(nc, stream, subject)) === 0;
}

/** @param decode - of a message, as the log decodes all of them */
export async function readLastWords(
  bus: Bus & { latestEpoch: number },
  query: LastWordsQuery & { decode(message: RawMessage): StoredEvent },
  take: (word: LastWord) => void,
): Promise<void> {
  const { nc, stream, latestEpoch } = bus;
  const { kind, having, before, isWanted = () => true, isSpared, decode, onSkip } = query;
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
  const ids = new Map<string, number>();
  for (const [id, count] of await idsWith(nc, stream, { kind, type: having, walkBeyond: bus.walkBeyond }))
    if (isWanted(id)) ids.set(id, count);
  const writer = known.get(having)?.writer;
  const typesOf = (isOfWriter: boolean) =>
    typesWithEvents(bus, {
      kind,
      types: [...known].flatMap(([type, of]) => ((of.writer === writer) === isOfWriter ? [type] : [])),
      ids,
      having,
      before,
    });
  const ofOthers = await typesOf(false);
  const [ofWriter] = await Promise.all([
    typesOf(true),
    readLastMessages(nc, { stream, subjects: subjectsOf(kind, ids.keys(), ofOthers) }, takeLast),
  ]);
  // Not before what it is about was counted: others may archive at the same time.
  const maySpare = isSpared !== undefined && (await isHistoryWhole(nc, stream));
  const beside = ofWriter.filter(({ type }) => type !== having);
  function isAsked([id, count]: [string, number]): boolean {
    return !maySpare || count > 1 || beside.some(({ has }) => has(id)) || !isSpared?.(id);
  }
  const asked = ids
    .entries()
    .filter(isAsked)
    .map(([id]) => id);
  await readLastMessages(nc, { stream, subjects: subjectsOf(kind, asked, ofWriter) }, takeLast);
}

interface Known {
  readonly writer: EventWriter;
  readonly typeName: string;
}

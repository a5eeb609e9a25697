import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  eventCatalogue,
  type EventWriter,
  eventTypeName,
  parseEventSubject,
  type StoredEvent,
} from '@rollcall/shared/events';
import { countSubjects } from './count-subjects.ts';
import type { OnSkip } from './event-log.ts';
import { readLastMessages } from './last-messages.ts';
import { type RawMessage, textOf } from './raw-message.ts';

/** The last event of one type of an aggregate, as it stands in the stream: no schema has seen its section. */
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
  readonly kind: AggregateId['kind'];
  readonly writers: readonly EventWriter[];
  /** Which of the types that an aggregate has are to be read, with how many events there are of each. Default: all. */
  readonly chosen?: (id: string, counts: ReadonlyMap<string, number>) => Iterable<string>;
  readonly onSkip?: OnSkip;
}

const listsAtOnce = 4;

/** How many events of each of these types each aggregate has. */
async function countTypes(
  jsm: JetStreamManager,
  { stream, kind, types }: { stream: string; kind: AggregateId['kind']; types: readonly string[] },
): Promise<Map<string, Map<string, number>>> {
  const all = new Map<string, Map<string, number>>();
  const queue = types.values();
  async function worker(): Promise<void> {
    for (const type of queue) {
      const filter = `rollcall.events.${kind}.*.${type}`;
      const from = `rollcall.events.${kind}.`.length;
      for (const [subject, count] of Object.entries(await countSubjects(jsm, stream, filter))) {
        const id = subject.slice(from, -type.length - 1);
        const counts = all.get(id) ?? new Map<string, number>();
        counts.set(type, count);
        all.set(id, counts);
      }
    }
  }
  await Promise.all(Array.from({ length: listsAtOnce }, worker));
  return all;
}

/** @param decode - of a message, as the log decodes all of them */
export async function readLastWords(
  bus: { nc: NatsConnection; jsm: JetStreamManager; stream: string; latestEpoch: number },
  query: LastWordsQuery & { decode(message: RawMessage): StoredEvent },
  take: (word: LastWord) => void,
): Promise<void> {
  const { nc, jsm, stream, latestEpoch } = bus;
  const { kind, chosen = (_id, counts) => counts.keys(), decode, onSkip } = query;
  const known = new Map(
    eventCatalogue
      .filter((definition) => definition.kind === kind && query.writers.includes(definition.writer))
      .map((definition) => [
        definition.type,
        { writer: definition.writer, typeName: eventTypeName(definition) },
      ]),
  );
  const counts = await countTypes(jsm, { stream, kind, types: [...known.keys()] });
  const subjects = [...counts].flatMap(([id, ofId]) =>
    [...chosen(id, ofId)].map((type) => `rollcall.events.${kind}.${id}.${type}`),
  );

  function read(
    message: RawMessage,
    place: NonNullable<ReturnType<typeof parseEventSubject>>,
  ): LastWord | undefined {
    const definition = known.get(place.type);
    if (!definition) return undefined;
    const { writer, typeName } = definition;
    // Whatever is out of the ordinary is for the decoder to say.
    if (message.header('ce-type') !== typeName) decode(message);
    const { epoch, section } = JSON.parse(textOf(message)) as {
      epoch?: unknown;
      section?: unknown;
    };
    if (typeof epoch !== 'number' || epoch > latestEpoch) decode(message);
    return { ...place, writer, sequence: message.sequence, section, decode: () => decode(message) };
  }
  function readOrSkip(message: RawMessage): void {
    const place = parseEventSubject(message.subject);
    if (!place) return;
    try {
      const word = read(message, place);
      if (word) take(word);
    } catch (thrown) {
      const error =
        thrown instanceof RollcallError
          ? thrown
          : new RollcallError('EVENT_INVALID', `event ${message.sequence} cannot be read`, { cause: thrown });
      onSkip?.(error, { ...place, sequence: message.sequence });
    }
  }
  await readLastMessages(nc, { stream, subjects }, readOrSkip);
}

import type { NatsConnection } from '@nats-io/transport-node';
import { firstTypes, type ListedKind } from '@rollcall/shared/events';
import { countEvents, listSubjects, subjectsInPage } from './list-subjects.ts';
import { walkMessages } from './walk-messages.ts';
import { streamState } from './whole-stream.ts';

/** From when on a list is not asked for: messages are read in their order instead. */
export interface WalkBeyond {
  /** Of the whole stream. */
  readonly subjects: number;
  /** Under the filter; fewer are one page. */
  readonly events: number;
}

/**
 * With so many subjects in the stream each page of a long list takes seconds of the server, in which it stores nothing; reading the
 * messages in their order takes longer and keeps nobody waiting (measured, ADR 17).
 */
const walkBeyondMany: WalkBeyond = { subjects: 1_000_000, events: subjectsInPage };

/**
 * Every aggregate of a kind, by what it began with: a list of all of its subjects is several times as long. Some twice.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function* aggregateIds(
  nc: NatsConnection,
  stream: 'EVENTS',
  { kind, walkBeyond }: { kind: ListedKind; walkBeyond?: WalkBeyond | undefined },
): AsyncGenerator<string> {
  for (const type of firstTypes[kind]) yield* (await idsWith(nc, stream, { kind, type, walkBeyond })).keys();
}

/**
 * Those that have events of this type, and how many.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function idsWith(
  nc: NatsConnection,
  stream: 'EVENTS',
  {
    kind,
    type,
    walkBeyond: beyond = walkBeyondMany,
  }: { kind: ListedKind; type: string; walkBeyond?: WalkBeyond | undefined },
): Promise<Map<string, number>> {
  const stem = `rollcall.events.${kind}.`;
  const filter = `${stem}*.${type}`;
  const idOf = (subject: string) => subject.slice(stem.length, -type.length - 1);
  const found = new Map<string, number>();
  const { subjects, lastSequence: throughSequence } = await streamState(nc, stream);
  if (subjects > beyond.subjects && (await countEvents(nc, stream, filter)) > beyond.events) {
    await walkMessages(nc, { stream, filter, throughSequence }, ({ subject }) => {
      const id = idOf(subject);
      found.set(id, (found.get(id) ?? 0) + 1);
    });
    return found;
  }
  for await (const page of listSubjects(nc, stream, filter))
    for (const [subject, count] of page) found.set(idOf(subject), count);
  return found;
}

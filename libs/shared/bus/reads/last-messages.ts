import type { NatsConnection } from '@nats-io/transport-node';
import { directGetEach, mostAnswered, wholeAnswer } from './direct-get.ts';
import type { RawMessage } from './raw-message.ts';
import { aggregates } from './read-together.ts';

/** The server answers no more than 1,024 subjects at once. */
const subjectsAtOnce = 500;
/** Questions under way: the server looks for the next messages while these are read. */
const questionsAtOnce = 4;
/** Of a large stream it may have to fetch them from its disk. */
const silenceMs = 20_000;

type Take = (messages: readonly RawMessage[]) => void;

function* groupsOf(names: Iterable<string>, most: number): Generator<string[]> {
  let group: string[] = [];
  for (const name of names) {
    group.push(name);
    if (group.length < most) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/**
 * @param of.questions - each worker takes the next
 * @param take - is given each answer, oldest message first
 */
async function readLast(
  nc: NatsConnection,
  { stream, questions }: { stream: string; questions: IteratorObject<string[]> },
  take: Take,
): Promise<void> {
  async function worker(): Promise<void> {
    for (const some of questions) {
      const found: RawMessage[] = [];
      const query = { multi_last: some, batch: mostAnswered, silenceMs };
      await directGetEach(nc, stream, { ...query, take: (message) => void found.push(message) });
      take(wholeAnswer(found));
    }
  }
  await Promise.all(Array.from({ length: questionsAtOnce }, worker));
}

/**
 * Reads the last message of each of these subjects, in no order, a few questions at a time: for whoever reads hundreds of
 * thousands.
 * @throws RollcallError BUS_UNREACHABLE
 */
export function readLastMessages(
  nc: NatsConnection,
  { stream, subjects }: { stream: string; subjects: Iterable<string> },
  take: Take,
): Promise<void> {
  return readLast(nc, { stream, questions: groupsOf(subjects, subjectsAtOnce) }, take);
}

/** The same of each type of these aggregates; what an aggregate has comes together. */
export function readAggregates(
  nc: NatsConnection,
  { stream, kind, ids }: { stream: string; kind: string; ids: Iterable<string> },
  take: Take,
): Promise<void> {
  const filters = (some: readonly string[]) => some.map((id) => `rollcall.events.${kind}.${id}.*`);
  const questions = groupsOf(ids, aggregates.most).map(filters);
  return readLast(nc, { stream, questions }, take);
}

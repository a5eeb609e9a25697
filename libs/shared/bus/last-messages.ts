import type { NatsConnection } from '@nats-io/transport-node';
import { directGetEach } from './direct-get.ts';
import type { RawMessage } from './raw-message.ts';

/** The server answers no more than 1,024 subjects at once. */
const subjectsAtOnce = 500;
/** Questions under way: the server looks for the next messages while these are read. */
const questionsAtOnce = 4;
/** Of a large stream it may have to fetch them from its disk. */
const silenceMs = 10_000;

/**
 * Reads the last message of each of these subjects, in no order, a few questions at a time: for whoever reads hundreds of
 * thousands.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function readLastMessages(
  nc: NatsConnection,
  { stream, subjects }: { stream: string; subjects: readonly string[] },
  take: (message: RawMessage) => void,
): Promise<void> {
  let next = 0;
  async function worker(): Promise<void> {
    while (next < subjects.length) {
      const some = subjects.slice(next, next + subjectsAtOnce);
      next += subjectsAtOnce;
      await directGetEach(nc, stream, { multi_last: some, batch: some.length, take, silenceMs });
    }
  }
  await Promise.all(Array.from({ length: questionsAtOnce }, worker));
}

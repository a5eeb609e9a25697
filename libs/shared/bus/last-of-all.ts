import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream';
import { countSubjects } from './count-subjects.ts';
import { directGet } from './direct-get.ts';

/** The server answers no more than 1,024 subjects at once, and an exactly full answer may be a cut one. */
const batch = 1000;
const chunkSize = 500;
/** 413: the filter matches more than that; the server then gives none. */
const tooManyResults = 413;

function isTooMany(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === tooManyResults;
}

/**
 * The last message of every subject under the filter, however many there are. A few hundred cost one request; more are
 * listed first and then read by name, in chunks.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function lastOfAll(jsm: JetStreamManager, stream: string, filter: string): Promise<StoredMsg[]> {
  try {
    const messages = await directGet(jsm.direct, stream, { multi_last: [filter], batch });
    if (messages.length < batch) return messages;
  } catch (cause) {
    if (!isTooMany(cause) && !(cause instanceof Error && isTooMany(cause.cause))) throw cause;
  }
  const subjects = Object.keys(await countSubjects(jsm, stream, filter));
  const messages: StoredMsg[] = [];
  for (let start = 0; start < subjects.length; start += chunkSize) {
    const some = subjects.slice(start, start + chunkSize);
    messages.push(...(await directGet(jsm.direct, stream, { multi_last: some, batch })));
  }
  return messages;
}

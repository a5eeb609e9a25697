import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { countSubjects } from './count-subjects.ts';
import { directGetLast, TooManyResults, wholeAnswer } from './direct-get.ts';
import { readLastMessages } from './last-messages.ts';
import type { RawMessage } from './raw-message.ts';

/**
 * The last message of every subject under the filter, however many there are, in no order. A few hundred cost one request; more
 * are listed first and then read by name.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function lastOfAll(
  { nc, jsm }: { nc: NatsConnection; jsm: JetStreamManager },
  stream: string,
  filter: string,
): Promise<RawMessage[]> {
  try {
    return wholeAnswer(await directGetLast(nc, stream, [filter]));
  } catch (cause) {
    if (!(cause instanceof TooManyResults)) throw cause;
  }
  const subjects = Object.keys(await countSubjects(jsm, stream, filter));
  const messages: RawMessage[] = [];
  await readLastMessages(nc, { stream, subjects }, (message) => messages.push(message));
  return messages;
}

import type { NatsConnection } from '@nats-io/transport-node';
import { directGet, mostAnswered, TooManyResults } from './direct-get.ts';
import { isUnder } from './last-of-all.ts';
import { messagesUpTo } from './up-to-date.ts';
import type { SeenEvent } from './seen-sequences.ts';

/**
 * Whether nothing more follows under a filter up to that event: the server that said so may be behind. With more than a thousand
 * subjects under the filter it is believed.
 * @param end.from - the sequence after the last message that was read
 * @param end.least - up to which it is to be whole; undefined: whoever said so is believed
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function isStreamEnd(
  nc: NatsConnection,
  stream: string,
  { filter, from, least }: { filter: string; from: number; least: SeenEvent | undefined },
): Promise<boolean> {
  // Whoever gave the last message has all that is older.
  if (least === undefined || least.sequence < from) return true;
  const query = { multi_last: [filter, least.subject], seq: from, batch: mostAnswered } as const;
  try {
    const messages = await messagesUpTo(least.sequence, () => directGet(nc, stream, query));
    return !messages.some(({ subject }) => isUnder(subject, filter));
  } catch (cause) {
    if (cause instanceof TooManyResults) return true;
    throw cause;
  }
}

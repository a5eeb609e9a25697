import type { NatsConnection } from '@nats-io/transport-node';
import { directGet, mostAnswered, TooManyResults } from './direct-get.ts';
import { isUnder } from './last-of-all.ts';
import { messagesUpTo } from './not-behind.ts';
import type { SeenEvent } from './seen-sequences.ts';

/**
 * Whether nothing more follows under a filter, up to the newest event that this process knows of: of servers in a cluster, the one
 * that said so may be behind. With more than a thousand subjects under the filter it is believed.
 * @param from - the sequence after the last message that was read
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function isStreamEnd(
  nc: NatsConnection,
  stream: string,
  { filter, from, newest }: { filter: string; from: number; newest: SeenEvent | undefined },
): Promise<boolean> {
  // Whoever gave the last message has all that is older.
  if (nc.info?.cluster === undefined || newest === undefined || newest.sequence < from) return true;
  const query = { multi_last: [filter, newest.subject], seq: from, batch: mostAnswered } as const;
  try {
    const messages = await messagesUpTo(newest.sequence, () => directGet(nc, stream, query));
    return !messages.some(({ subject }) => isUnder(subject, filter));
  } catch (cause) {
    if (cause instanceof TooManyResults) return true;
    throw cause;
  }
}

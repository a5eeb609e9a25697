import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { isListedKind } from '@rollcall/shared/events';
import { directGetLast, isWatcher, TooManyResults, wholeAnswer } from './direct-get.ts';
import { aggregateIds, idsWith, type WalkBeyond } from './aggregate-ids.ts';
import { readAggregates, readLastMessages } from './last-messages.ts';
import { listSubjects } from './list-subjects.ts';
import { messagesUpTo } from './up-to-date.ts';
import type { RawMessage } from './raw-message.ts';
import type { SeenEvent } from './seen-sequences.ts';

/** Whether the subject is under a filter whose wildcards stand for one word each. */
export function isUnder(subject: string, filter: string): boolean {
  const words = subject.split('.');
  const wanted = filter.split('.');
  return words.length === wanted.length && wanted.every((word, at) => word === '*' || word === words[at]);
}

/**
 * The last message of every subject under the filter, however many there are, in no order. A few hundred cost one request; more
 * are listed first and then read by name.
 * @param how.least - what the server that answers must have, where one does alone
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function lastOfAll(
  nc: NatsConnection,
  stream: 'EVENTS',
  filter: string,
  { least, walkBeyond }: { least: SeenEvent | undefined; walkBeyond?: WalkBeyond | undefined },
): Promise<RawMessage[]> {
  try {
    const filters = least ? [filter, least.subject] : [filter];
    const messages = await messagesUpTo(least?.sequence ?? 0, () => directGetLast(nc, stream, filters));
    return wholeAnswer(messages).filter(({ subject }) => isUnder(subject, filter));
  } catch (cause) {
    if (!(cause instanceof TooManyResults)) throw cause;
    if (isWatcher(nc))
      throw new RollcallError('BUS_REFUSED', 'so much of the history can only be read with inspector.creds', {
        cause,
      });
  }
  const messages: RawMessage[] = [];
  const take = (some: readonly RawMessage[]) => void messages.push(...some);
  const [, , kind = '', id, type] = filter.split('.');
  if (isListedKind(kind) && id === '*' && type === '*') {
    const ids = new Set(await Array.fromAsync(aggregateIds(nc, stream, { kind, walkBeyond })));
    await readAggregates(nc, { stream, kind, ids }, take);
  } else {
    const subjects = new Set<string>();
    if (isListedKind(kind) && id === '*' && type !== undefined)
      for (const found of (await idsWith(nc, stream, { kind, type, walkBeyond })).keys())
        subjects.add(`rollcall.events.${kind}.${found}.${type}`);
    else
      for await (const page of listSubjects(nc, stream, filter))
        for (const [subject] of page) subjects.add(subject);
    await readLastMessages(nc, { stream, subjects }, take);
  }
  return messages;
}

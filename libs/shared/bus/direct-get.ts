import type { DirectStreamAPI, StoredMsg } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import { asBusError } from './bus-error.ts';

type LastOfEach = Parameters<DirectStreamAPI['getLastMessagesFor']>[1];
type FromSequence = Parameters<DirectStreamAPI['getBatch']>[1];

/** The longest silence in the middle of an answer: the library itself only watches over the first message. */
const silenceMs = 5000;

/** The server's word for "no message there"; the library throws it although it is an ordinary end. */
function isNothingThere(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 404;
}

/**
 * Reads messages from a stream without a consumer, in one request.
 *
 * With the callback, because the library's iterator never takes its subscription back: each read would leave one, here and
 * in the server (measured); and a connection lost between two messages would leave its reader waiting for ever.
 * @returns what is there, in the server's order; nothing where there is nothing
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function directGet(
  direct: DirectStreamAPI,
  stream: string,
  query: LastOfEach | FromSequence,
): Promise<StoredMsg[]> {
  const found: StoredMsg[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silence = setTimeout(() => reject(new errors.TimeoutError()), silenceMs);
  const callback = (done: { err?: Error } | null, message: StoredMsg) => {
    if (!done) {
      found.push(message);
      silence.refresh();
    } else if (done.err && !isNothingThere(done.err)) reject(done.err);
    else resolve();
  };
  try {
    const reading =
      'multi_last' in query
        ? await direct.getLastMessagesFor(stream, { ...query, callback })
        : await direct.getBatch(stream, { ...query, callback });
    try {
      await promise;
    } finally {
      reading.stop();
    }
  } catch (cause) {
    throw asBusError(cause);
  } finally {
    clearTimeout(silence);
  }
  return found;
}

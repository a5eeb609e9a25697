import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { asBusError } from './bus-error.ts';

/** A message as a stream has it; nothing of it is decoded before it is asked for. */
export interface RawMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly data: Uint8Array;
  /** '' where there is none. */
  header(name: string): string;
}

/** The server answers no more than 1,024 subjects at once. */
const subjectsAtOnce = 500;
/** Questions under way: the server looks for the next messages while these are read. */
const questionsAtOnce = 4;
const silenceMs = 10_000;
const endOfBatch = ' 204 ';
const nothingThere = ' 404 ';

/**
 * The header of a message as text. nats.js keeps its bytes and takes all of it apart when any header is asked for, which is most
 * of what a short message costs; the fields are not in its contract, so without them the contract is used.
 */
function headerText(message: Msg): string {
  // oxlint-disable-next-line no-underscore-dangle -- the names are the library's
  const { _rdata: all, _msg: parsed } = message as {
    readonly _rdata?: unknown;
    readonly _msg?: { readonly hdr?: unknown };
  };
  if (all instanceof Uint8Array && typeof parsed?.hdr === 'number' && parsed.hdr > 0)
    return Buffer.from(all.buffer, all.byteOffset, parsed.hdr).toString('latin1');
  const { headers } = message;
  if (!headers) return '';
  const lines = [...headers.keys()].map((key) => `${key}: ${headers.get(key)}\r\n`);
  return `NATS/1.0${headers.code > 0 ? ` ${headers.code} ` : ''}\r\n${lines.join('')}`;
}

function valueOf(text: string, name: string): string {
  const start = text.indexOf(`\r\n${name}: `);
  if (start < 0) return '';
  const from = start + name.length + 4;
  return text.slice(from, text.indexOf('\r\n', from));
}

function rawMessage(message: Msg, text: string): RawMessage {
  return {
    subject: valueOf(text, 'Nats-Subject'),
    sequence: Number(valueOf(text, 'Nats-Sequence')),
    data: message.data,
    header: (name) => valueOf(text, name),
  };
}

function inboxOf(nc: NatsConnection): string {
  // As the library's own requests do it: answers to another prefix are not heard.
  const { options } = nc as unknown as { readonly options?: { readonly inboxPrefix?: string } };
  return createInbox(options?.inboxPrefix);
}

async function ask(
  nc: NatsConnection,
  { stream, subjects }: { stream: string; subjects: readonly string[] },
  take: (message: RawMessage) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silent = new RollcallError('BUS_UNREACHABLE', `the bus did not answer: last messages of ${stream}`);
  const silence = setTimeout(() => reject(silent), silenceMs);
  const inbox = inboxOf(nc);
  const subscription = nc.subscribe(inbox, {
    callback: (error, message) => {
      if (error) return reject(error);
      silence.refresh();
      const text = headerText(message);
      // A status stands in the first line, and a stored message has none.
      const status = text.slice(8, text.indexOf('\r\n'));
      if (status === '') return take(rawMessage(message, text));
      if (status.startsWith(endOfBatch) || status.startsWith(nothingThere)) return resolve();
      reject(new RollcallError('BUS_UNREACHABLE', `last messages of ${stream}:${status}`));
    },
  });
  try {
    const question = JSON.stringify({ multi_last: subjects, batch: subjects.length });
    nc.publish(`$JS.API.DIRECT.GET.${stream}`, question, { reply: inbox });
    await promise;
  } catch (cause) {
    throw asBusError(cause);
  } finally {
    clearTimeout(silence);
    subscription.unsubscribe();
  }
}

/**
 * Reads the last message of each of these subjects, a few questions at a time, for whoever reads hundreds of thousands: what is
 * not looked at is not taken apart.
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
      await ask(nc, { stream, subjects: some }, take);
    }
  }
  await Promise.all(Array.from({ length: questionsAtOnce }, worker));
}

import { createInbox, errors, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { asBusError } from './bus-error.ts';

/** A message as a stream has it; nothing of it is taken apart before it is asked for. */
export interface RawMessage {
  readonly subject: string;
  readonly sequence: number;
  readonly data: Uint8Array;
  /** '' where there is none. `Nats-…`: as the server says it. */
  header(name: string): string;
  /** All of them, the server's own among them. */
  headerNames(): string[];
}

export type DirectQuery = { readonly batch: number } & (
  | { readonly multi_last: readonly string[] }
  | { readonly seq: number; readonly next_by_subj?: string }
);

/** The filters match more than the server answers at once (1,024); it then gives none. */
export class TooManyResults extends Error {}

/** The longest silence before an answer and in the middle of it. */
const defaultSilenceMs = 5000;
const utf8 = new TextDecoder();
const endOfBatch = '204';
const nothingThere = '404';
const tooManyResults = '413';

/**
 * The header of a message as text. nats.js keeps its bytes and takes all of it apart when any header is asked for, which is most
 * of what a short message costs; the fields are not in its contract, so without them the contract is used.
 */
function headText(message: Msg): string {
  // oxlint-disable-next-line no-underscore-dangle -- the names are the library's
  const { _rdata: all, _msg: parsed } = message as {
    readonly _rdata?: unknown;
    readonly _msg?: { readonly hdr?: unknown };
  };
  if (all instanceof Uint8Array && typeof parsed?.hdr === 'number' && parsed.hdr > 0)
    return Buffer.from(all.buffer, all.byteOffset, parsed.hdr).toString();
  const { headers } = message;
  if (!headers) return '';
  const lines = [...headers.keys()].flatMap((key) =>
    headers.values(key).map((value) => `${key}: ${value}\r\n`),
  );
  return `NATS/1.0${headers.code > 0 ? ` ${headers.status}` : ''}\r\n${lines.join('')}\r\n`;
}

/** The server adds its own headers after those of the writer, who may have written some of the same name. */
function headerIn(head: string, name: string): string {
  const line = `\r\n${name}: `;
  const at = name.startsWith('Nats-') ? head.lastIndexOf(line) : head.indexOf(line);
  if (at < 0) return '';
  const from = at + line.length;
  return head.slice(from, head.indexOf('\r\n', from)).trim();
}

function headerNamesIn(head: string): string[] {
  const lines = head.split('\r\n').slice(1);
  return [
    ...new Set(lines.flatMap((line) => (line.includes(': ') ? [line.slice(0, line.indexOf(': '))] : []))),
  ];
}

/** @returns undefined for what is no message of a stream, but the server's word about the answer */
function rawMessage(message: Msg, head: string): RawMessage | undefined {
  // A message has a place. Not by the status in the first line: a writer can send one, and it is the server's kindness to drop it.
  const sequence = Number(headerIn(head, 'Nats-Sequence'));
  if (sequence === 0) return undefined;
  return {
    subject: headerIn(head, 'Nats-Subject'),
    sequence,
    data: message.data,
    header: (name) => headerIn(head, name),
    headerNames: () => headerNamesIn(head),
  };
}

/** When the server stored it. */
export function storedAtMs({ header }: RawMessage): number {
  return Date.parse(header('Nats-Time-Stamp'));
}

export function textOf({ data }: RawMessage): string {
  return utf8.decode(data);
}

function inboxOf(nc: NatsConnection): string {
  // As the library's own requests do it: answers to another prefix are not heard.
  const { options } = nc as unknown as { readonly options?: { readonly inboxPrefix?: string } };
  return createInbox(options?.inboxPrefix);
}

/** What is there, in the server's order; nothing where there is nothing. As `directGetEach`. */
export async function directGet(
  nc: NatsConnection,
  stream: string,
  query: DirectQuery,
): Promise<RawMessage[]> {
  const found: RawMessage[] = [];
  await directGetEach(nc, stream, { ...query, take: (message) => void found.push(message) });
  return found;
}

/**
 * Reads messages from a stream without a consumer, in one request.
 *
 * Not by the library: it takes each header apart, which is half of what an event costs to read (measured), and its iterator never
 * takes its subscription back.
 * @param how.take - is given each as it comes
 * @throws TooManyResults; RollcallError BUS_UNREACHABLE
 */
export async function directGetEach(
  nc: NatsConnection,
  stream: string,
  how: DirectQuery & { take(message: RawMessage): void; silenceMs?: number },
): Promise<void> {
  const { take, silenceMs = defaultSilenceMs, ...query } = how;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const silence = setTimeout(() => reject(new errors.TimeoutError()), silenceMs);
  const inbox = inboxOf(nc);
  const callback = (error: Error | null, answer: Msg) => {
    if (error) return reject(error);
    silence.refresh();
    const head = headText(answer);
    const message = rawMessage(answer, head);
    if (message) return take(message);
    const status = head.slice('NATS/1.0 '.length, head.indexOf('\r\n'));
    if (status.startsWith(endOfBatch) || status.startsWith(nothingThere)) return resolve();
    if (status.startsWith(tooManyResults)) return reject(new TooManyResults(status));
    reject(new RollcallError('BUS_UNREACHABLE', `the bus cannot read ${stream} now: ${status}`));
  };
  try {
    const subscription = nc.subscribe(inbox, { callback });
    try {
      nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify(query), { reply: inbox });
      await promise;
    } finally {
      subscription.unsubscribe();
    }
  } catch (cause) {
    throw asBusError(cause);
  } finally {
    clearTimeout(silence);
  }
}

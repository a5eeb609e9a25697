import type { Msg } from '@nats-io/transport-node';

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

const utf8 = new TextDecoder();

/**
 * The header of a message as text. nats.js keeps its bytes and takes all of it apart when any header is asked for, which is most
 * of what a short message costs; the fields are not in its contract, so without them the contract is used.
 */
export function headText(message: Pick<Msg, 'headers'>): string {
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

/**
 * One header of a `headText`; '' where it is not there. The server adds its own after those of the writer, who may have written some
 * of the same name.
 */
export function headerIn(head: string, name: string): string {
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

/**
 * @param head - its `headText`
 * @returns undefined for what is no message of a stream, but the server's word about the answer
 */
export function rawMessage({ data }: Pick<Msg, 'data'>, head: string): RawMessage | undefined {
  // A message has a place. Not by the status in the first line: a writer can send one, and it is the server's kindness to drop it.
  const sequence = Number(headerIn(head, 'Nats-Sequence'));
  if (sequence === 0) return undefined;
  return {
    subject: headerIn(head, 'Nats-Subject'),
    sequence,
    data,
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

import { connect, type TLSSocket } from 'node:tls';
import type { BusCredentials } from '@rollcall/shared/bus';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import type { AskedHub } from './raw-agent.ts';

/**
 * A connection that speaks the NATS protocol line by line, as an attacker does: no client library decides what is sent, and
 * what the server refuses is told apart by subject.
 */
export interface RawBus extends AsyncDisposable {
  /** What the server refused of these publications; nothing of it is kept where it is allowed. */
  refusedPublish(subjects: readonly string[]): Promise<Set<string>>;
  /** Sends one message as it is, and says whether the server refused it for want of a right. */
  isRefused(message: RawMessage): Promise<boolean>;
  /** Sends these as they are. @returns how many of them the server let through */
  send(messages: readonly RawMessage[]): Promise<number>;
  /** What it refused of these subscriptions, each ended at once. */
  refusedSubscribe(subjects: readonly string[], queue?: string): Promise<Set<string>>;
  /** Subscribes, lets something happen, and gives the subjects of what came of it. */
  hear(subjects: readonly string[], meanwhile: () => Promise<void>): Promise<string[]>;
}

export interface RawMessage {
  readonly subject: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly reply?: string;
}

function inBytes({ subject, body = '', headers = {}, reply }: RawMessage): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `NATS/1.0\r\n${lines.join('')}\r\n`;
  const [headBytes, bytes] = [Buffer.byteLength(head), Buffer.byteLength(head + body)];
  return `HPUB ${subject} ${reply === undefined ? '' : `${reply} `}${headBytes} ${bytes}\r\n${head}${body}\r\n`;
}

const impossible = { 'Nats-Expected-Last-Sequence': '999999999' };
const violation = /Permissions Violation for (?:Publish to|Publish with Reply of|Subscription to) "([^"]+)"/;

/** Lines as they come; whoever waits is told at each, and at the end. */
function readLines(socket: TLSSocket) {
  const lines: string[] = [];
  let rest = '';
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  const tell = () => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\r\n');
    rest = parts.pop() ?? '';
    for (const line of parts)
      if (line === 'PING') socket.write('PONG\r\n');
      else lines.push(line);
    tell();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isOver = true;
    tell();
  });
  return {
    /** Everything up to the first line that fits, which is taken as well. */
    async upTo(fits: (line: string) => boolean): Promise<string[]> {
      for (;;) {
        const at = lines.findIndex(fits);
        if (at >= 0) return lines.splice(0, at + 1);
        if (isOver) throw new Error(`the server closed the connection: ${lines.join(' | ')}`);
        await wake.promise;
      }
    },
  };
}

/**
 * @param more - fields of CONNECT beside the proof of the credentials
 * @throws Error with what the server said, when it does not let us in
 */
export async function connectRaw(
  hub: AskedHub,
  credentials: BusCredentials | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Promise<RawBus> {
  const [host = '', port] = (hub.address.servers[0] ?? '').split(':');
  const socket = connect({ host, port: Number(port), ca: hub.address.caPem });
  const { upTo } = readLines(socket);
  const [info = ''] = await upTo((line) => line.startsWith('INFO '));
  const { nonce } = JSON.parse(info.slice('INFO '.length)) as { nonce: string };
  const proof = credentials && {
    jwt: credentials.jwt,
    sig: nkeyFromSeed(credentials.seed).sign(nonce),
  };
  const options = { verbose: false, pedantic: false, headers: true, protocol: 1, ...proof, ...more };
  socket.write(`CONNECT ${JSON.stringify(options)}\r\nPING\r\n`);
  await upTo((line) => line === 'PONG');

  /** The server answers in order: what it refused stands before the PONG. */
  async function refused(commands: readonly string[]): Promise<Set<string>> {
    socket.write(`${commands.join('')}PING\r\n`);
    const lines = await upTo((line) => line === 'PONG');
    return new Set(lines.flatMap((line) => violation.exec(line)?.[1] ?? []));
  }
  let sid = 0;
  return {
    refusedPublish: (subjects) =>
      refused(subjects.map((subject) => inBytes({ subject, body: 'x', headers: impossible }))),
    async send(messages) {
      socket.write(`${messages.map(inBytes).join('')}PING\r\n`);
      const lines = await upTo((line) => line === 'PONG');
      return messages.length - lines.filter((line) => violation.test(line)).length;
    },
    isRefused: async (message) => (await refused([inBytes(message)])).has(message.subject),
    refusedSubscribe: (subjects, queue) =>
      refused(
        subjects.map((subject) => {
          sid += 1;
          return `SUB ${subject} ${queue === undefined ? '' : `${queue} `}${sid}\r\nUNSUB ${sid}\r\n`;
        }),
      ),
    async hear(subjects, meanwhile) {
      const first = sid + 1;
      const commands = subjects.map((subject) => `SUB ${subject} ${(sid += 1)}\r\n`);
      await refused(commands);
      await meanwhile();
      const ends = subjects.map((_, at) => `UNSUB ${first + at}\r\n`);
      socket.write(`${ends.join('')}PING\r\n`);
      const lines = await upTo((line) => line === 'PONG');
      return lines.flatMap((line) => /^H?MSG (\S+)/.exec(line)?.[1] ?? []);
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}

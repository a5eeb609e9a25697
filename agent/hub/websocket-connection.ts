import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { RollcallError } from '@rollcall/shared/errors';
import { WebSocket } from 'ws';
import { formatHubAddress, type HubAddress, hostAndPort } from './hub-address.ts';

const answerWithinMs = 10_000;
/** Far more than anything that the hub says to an agent. */
const maxMessageBytes = 1_048_576;

/**
 * Begins to speak WebSocket over a connection with the hub.
 * @param secured - the TLS connection: whoever answers on it has been checked
 * @returns what NATS is spoken over; the connection ends with it
 * @throws RollcallError HUB_NOT_WEBSOCKET; else what went wrong on the connection
 */
export async function openWebSocket(address: HubAddress, secured: TLSSocket): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // `ws:`, because TLS is there already. No compression: it is an old way to exhaust either side.
  const socket = new WebSocket(`ws://${hostAndPort(address)}/`, {
    createConnection: () => secured,
    perMessageDeflate: false,
    handshakeTimeout: answerWithinMs,
    maxPayload: maxMessageBytes,
  });
  socket.once('open', resolve);
  socket.on('error', reject);
  socket.once('unexpected-response', (_request, { statusCode }) => {
    reject(noWebSocket(address, `it answered ${statusCode}`));
  });
  // In the same turn as `open`: the server speaks at once.
  const stream = asStream(socket);
  try {
    await promise;
  } catch (thrown) {
    stream.destroy();
    secured.destroy();
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
    throw code.startsWith('HPE_') ? noWebSocket(address, code) : thrown;
  }
  return stream;
}

function noWebSocket(address: HubAddress, why: string): RollcallError {
  const message = `nobody speaks WebSocket at ${formatHubAddress(address)} (${why})`;
  return new RollcallError('HUB_NOT_WEBSOCKET', message);
}

/** The messages of a WebSocket as one stream of bytes, which is what NATS makes of them. */
function asStream(socket: WebSocket): Duplex & { readonly encrypted: true } {
  const stream = new Duplex({
    read() {
      if (socket.isPaused) socket.resume();
    },
    write(chunk: Buffer, _encoding, done) {
      socket.send(chunk, done);
    },
    destroy(error, done) {
      socket.terminate();
      done(error);
    },
  });
  socket.on('message', (data) => {
    if (!stream.push(data)) socket.pause();
  });
  // An end of one side is the end of both.
  socket.on('close', () => stream.destroy());
  socket.on('error', (error) => stream.destroy(error));
  stream.on('error', () => undefined);
  // nats.js asks for it where the server says that it wants TLS.
  return Object.assign(stream, { encrypted: true as const });
}

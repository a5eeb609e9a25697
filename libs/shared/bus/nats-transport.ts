import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import {
  type NatsConnection,
  NatsConnectionImpl,
  type NodeConnectionOptions,
  setTransportFactory,
} from '@nats-io/transport-node';
import { nodeResolveHost, NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';

export interface NatsOptions extends NodeConnectionOptions {
  /** Where the connection stands already, and TLS is somebody else's. */
  readonly stream?: Duplex;
}

const ignore = () => undefined;

/** What a connection was given and has not sent: the library takes all there is, however slow the line. */
export function unsentBytes(nc: NatsConnection): number {
  const { outbound, transport } = (nc as unknown as NatsConnectionImpl).protocol;
  const { socket } = transport as unknown as { readonly socket?: Duplex };
  return outbound.size() + (socket?.writableLength ?? 0);
}

/** Behind the name of a Service may be a server whose machine has no power: the next try comes to another one. */
const dialWithinMs = 1000;

/** Whoever takes all listeners off leaves one for errors: Node ends the process over an error that nobody hears. */
function keepHearingErrors(socket: Socket): void {
  const removeAll = socket.removeAllListeners.bind(socket);
  // With an event that is undefined Node would take none off.
  socket.removeAllListeners = (...events) =>
    removeAll(...events)
      .off('error', ignore)
      .on('error', ignore);
}

/**
 * The library's transport, without what ends a process when a server dies: after the server's end of the connection a write that
 * was queued fails, and by the time Node says so, the library has taken its listeners off
 * (docs/upstream/nats-transport-node-write-after-end.md).
 */
class LastingTransport extends NodeTransport {
  #opening: Socket | undefined;
  #certificates: ReturnType<NodeTransport['loadClientCerts']> | undefined;

  override async tlsFirst(server: { hostname: string; port: number }): Promise<TLSSocket> {
    const { stream, tls } = this.options as NatsOptions;
    // It reads, writes and ends it; nothing of TLS is asked for.
    if (stream !== undefined) return stream as unknown as TLSSocket;
    // An agent gives one that is connected, by its proxy where it has one, and ends it; node:tls takes that.
    if (!(tls && 'socket' in tls)) {
      // Before, as the library reads them once the connection stands: one that ends meanwhile would be waited for until the timeout.
      await this.loadClientCerts().catch(ignore);
      this.socket = await this.dial(server);
    }
    return super.tlsFirst(server);
  }

  override loadClientCerts(): ReturnType<NodeTransport['loadClientCerts']> {
    return (this.#certificates ??= super.loadClientCerts());
  }

  override async dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const socket = createConnection(port, hostname).setNoDelay(true).on('error', ignore);
    keepHearingErrors(socket);
    this.#opening = socket;
    const signal = AbortSignal.timeout(dialWithinMs);
    await once(socket, 'connect', { signal }).catch((cause: unknown) => {
      const why = `${hostname}:${port} does not answer within ${dialWithinMs} ms`;
      throw signal.aborted ? Object.assign(new Error(why, { cause }), { code: 'ETIMEDOUT' }) : cause;
    });
    return socket;
  }

  /**
   * Ends a connection that is not made yet too, which the library forgets (docs/upstream/nats-transport-node-open-dial.md): one to a
   * server that does not answer would keep a process that was told to stop for minutes.
   */
  override async close(reason?: Error): Promise<void> {
    const opening = this.#opening;
    // Where TLS is spoken over it, its error would be that of the secured socket, whose listeners the library may have taken off.
    if (!this.connected) opening?.destroy(opening.connecting ? new Error('given up') : undefined);
    return super.close(reason);
  }

  override setupHandlers(): void {
    super.setupHandlers();
    keepHearingErrors(this.socket);
  }

  override send(frame: Uint8Array): void {
    // The library takes it away in the end, which its type does not say.
    const socket = this.socket as Socket | undefined;
    if (socket?.writable !== false) super.send(frame);
  }
}

let isWarned = false;

/**
 * A message that cannot be taken apart is lost, and the next one is heard: in the library what a callback throws, or its own reading
 * of a header whose name has a space in it (an empty reply to a request is enough), ends the reading of the connection, which still
 * looks well.
 */
function keepReading({ protocol }: NatsConnectionImpl): void {
  const processMessage = protocol.processMsg.bind(protocol);
  protocol.processMsg = (message, data) => {
    try {
      processMessage(message, data);
    } catch (error) {
      // Once: who sends such messages sends as many as it likes.
      if (!isWarned) process.emitWarning(`a message could not be read: ${String(error)}`);
      isWarned = true;
    }
  };
}

const [carriageReturn, questionMark] = [0x0d, 0x3f];
type LineReader = Pick<NatsConnectionImpl['protocol']['parser'], 'processMsgArgs' | 'processHeaderMsgArgs'>;
let areLinesMended = false;

/**
 * Takes the line before a message apart where the server does: at blanks. The server lets through a carriage return in a subject, and in
 * the subject that somebody names for an answer, which it never checks. The library ends the line's words there too, finds one too
 * many, and reads nothing of that connection any more; whoever holds a token could have done that to the hub.
 */
function splitAsTheServer({ protocol }: NatsConnectionImpl): void {
  if (areLinesMended) return;
  areLinesMended = true;
  // The library makes a new reader for each connection of a connection.
  const reader = Object.getPrototypeOf(protocol.parser) as LineReader;
  for (const name of ['processMsgArgs', 'processHeaderMsgArgs'] as const) {
    const read = reader[name];
    reader[name] = function (this: LineReader, line: Uint8Array) {
      const isWhole = !line.includes(carriageReturn);
      read.call(this, isWhole ? line : line.map((byte) => (byte === carriageReturn ? questionMark : byte)));
    };
  }
}

/**
 * Connects as `connect` of the library does. Everything of ours connects by this: the library makes one kind of transport in a
 * process, and whoever asked last says which.
 * @throws what the library says
 */
export async function connectNats(options: NatsOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new LastingTransport(), dnsResolveFn: nodeResolveHost });
  const connection: NatsConnection = await NatsConnectionImpl.connect(options);
  splitAsTheServer(connection as unknown as NatsConnectionImpl);
  keepReading(connection as unknown as NatsConnectionImpl);
  return connection;
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * What a network does to the connections that go over it.
 * - `cut`: connections break and none comes about. `mute`: they stand, and nothing gets through until it is open again.
 * - `half-open`: only what comes back from the server is lost on the way. `slow`: everything takes longer.
 */
export type NetworkState = 'open' | 'cut' | 'mute' | 'half-open' | 'slow';

/** A TCP proxy to one server that behaves as badly as it is told to. */
export interface FlakyNetwork extends AsyncDisposable {
  /** On the loopback address. */
  readonly port: number;
  /** Connections that are there follow, too. */
  become(state: NetworkState): void;
  /** How many connections were broken or held by it so far. */
  touched(): number;
}

const slowMs = 200;

export async function openFlakyNetwork(target: { host: string; port: number }): Promise<FlakyNetwork> {
  let state: NetworkState = 'open';
  let changed = Promise.withResolvers<void>();
  let touched = 0;
  const sockets = new Set<Socket>();

  /** Holds what it is given for as long as the network is what it is. */
  function path(direction: 'there' | 'back'): Transform {
    const isHeld = () => state === 'mute' || (state === 'half-open' && direction === 'back');
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        void (async () => {
          if (isHeld()) touched++;
          while (isHeld()) await changed.promise;
          if (state === 'slow') {
            touched++;
            await delay(slowMs);
          }
          done(undefined, chunk);
        })();
      },
    });
  }
  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  }

  const server = createServer((client) => {
    keep(client);
    if (state === 'cut') {
      touched++;
      client.destroy();
      return;
    }
    const upstream = connect(target.port, target.host);
    keep(upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(path('there')).pipe(upstream);
    upstream.pipe(path('back')).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function become(next: NetworkState): void {
    state = next;
    changed.resolve();
    changed = Promise.withResolvers<void>();
    if (next !== 'cut') return;
    touched += sockets.size;
    for (const socket of sockets) socket.destroy();
  }
  return {
    port: (server.address() as AddressInfo).port,
    become,
    touched: () => touched,
    async [Symbol.asyncDispose]() {
      become('cut');
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

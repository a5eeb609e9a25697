import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectNats } from '@rollcall/shared/bus';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** As much of a server as the library needs to be connected; no real one ends its side alone, and at the moment that is asked for. */
let server: Server;
const peers: Socket[] = [];
const info = {
  server_id: 'x',
  version: '2.15.2',
  proto: 1,
  headers: true,
  max_payload: 1_048_576,
  tls_required: true,
};
const unhandled: string[] = [];
const note = (thrown: unknown) => void unhandled.push(String(thrown));
beforeAll(async () => {
  process.on('uncaughtException', note);
  server = createServer({ allowHalfOpen: true }, (socket) => {
    peers.push(socket);
    socket.on('error', () => undefined).write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on('data', (data) => {
      if (data.includes('PING')) socket.write('PONG\r\n');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  process.off('uncaughtException', note);
  server.close();
});

interface Ended {
  readonly nc: NatsConnection;
  readonly stream: Duplex;
}

/**
 * Does something in the moment in which the server has ended its side, as a killed process does, and the library its own: nothing
 * can be written any more, and nobody has said so yet.
 */
async function expectNothingUnhandled(act: (connection: Ended) => void): Promise<void> {
  const { port } = server.address() as AddressInfo;
  // TLS would only hide when which side ends.
  const stream = Object.assign(connect(port, '127.0.0.1'), { encrypted: true });
  await once(stream, 'connect');
  const nc = await connectNats({
    servers: `127.0.0.1:${port}`,
    tls: { handshakeFirst: true },
    resolve: false,
    reconnect: false,
    stream,
  });
  const { promise, resolve } = Promise.withResolvers<unknown>();
  // In a microtask, as the library sends what is queued.
  stream.once('end', () =>
    queueMicrotask(() => {
      const state = { isWritable: stream.writable, isDestroyed: stream.destroyed };
      act({ nc, stream });
      resolve(state);
    }),
  );
  peers.at(-1)?.end();
  expect(await promise).toEqual({ isWritable: false, isDestroyed: false });
  await nc.closed();
  // What is unhandled is told in the turn that follows.
  await turn();
  peers.at(-1)?.destroy();
  expect(unhandled.splice(0)).toEqual([]);
}

const publish = (nc: NatsConnection) => {
  nc.publish('x', 'y');
  void nc.flush().catch(() => undefined);
};

test('somebody publishes and closes: nothing is unhandled', () =>
  expectNothingUnhandled(({ nc }) => {
    publish(nc);
    void nc.close();
  }));

test('what is published is not written', async () => {
  const errors: unknown[] = [];
  await expectNothingUnhandled(({ nc, stream }) => {
    stream.on('error', (error) => errors.push(error));
    publish(nc);
  });
  expect(errors).toEqual([]);
});

test('an error that is under way when the connection is closed has a listener', () =>
  expectNothingUnhandled(({ nc, stream }) => {
    stream.write('too late');
    void nc.close();
  }));

test.each([{ tls: { handshakeFirst: true } }, { tls: null }])(
  'a connection that is given up while it is made does not stay: $tls',
  async ({ tls }) => {
    const silent = createServer();
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const accepted = once(silent, 'connection') as Promise<[Socket]>;
    const { port } = silent.address() as AddressInfo;
    const connecting = connectNats({ servers: `127.0.0.1:${port}`, tls, timeout: 100, reconnect: false });
    await expect(connecting).rejects.toThrow('timeout');
    const [peer] = await accepted;
    const ended = once(peer.on('error', () => undefined).resume(), 'close');
    // Without a close of ours nothing ends it.
    expect(await Promise.race([ended.then(() => 'closed'), delay(10_000, 'stays')])).toBe('closed');
    silent.close();
  },
);

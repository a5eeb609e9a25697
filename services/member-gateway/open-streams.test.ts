import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { connect } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { createOpenStreams } from './open-streams.ts';

const info = 'INFO {"server_id":"X","version":"2.15.2","max_payload":1048576,"proto":1,"headers":true}\r\n';

const asked = { method: 'GET', path: '/', headers: [], hasBody: false, user: 'alice', groups: [] };

/** As much of a NATS server as a connection needs; it goes away and comes back. */
async function aBus() {
  let heard = '';
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).write(info);
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      if (data.includes('PING\r\n')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const nc = await connect({
    servers: `127.0.0.1:${port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 10,
    reconnectJitter: 1,
  });
  return {
    nc,
    heard: () => heard,
    goAway() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    comeBack: () => void server.listen(port, '127.0.0.1'),
    async [Symbol.asyncDispose]() {
      await nc.close();
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

test('while the bus is away nothing is carried: what would be said then is lost, and no agent is to blame', async () => {
  await using bus = await aBus();
  const streams = createOpenStreams(bus.nc);
  expect(streams.isConnected()).toBe(true);
  bus.goAway();
  await expect.poll(streams.isConnected).toBe(false);
  const stream = streams.open({ clusterId: 'c', person: 'alice' }, asked);
  bus.comeBack();
  await expect.poll(streams.isConnected).toBe(true);
  streams.open({ clusterId: 'c', person: 'alice' }, asked);
  await expect.poll(bus.heard).toContain('PUB rollcall.tunnel.open.c ');
  expect(bus.heard()).not.toContain('"stream":"1"');
  stream?.destroy();
  streams.stop();
});

test.each([
  {
    what: 'more groups than an agent takes',
    more: { groups: Array.from({ length: 513 }, (_, at) => `g${at}`) },
  },
  { what: 'a method that an agent does not pass on', more: { method: 'M-SEARCH' } },
  { what: 'more than an agent is sent at once', more: { path: `/${'x'.repeat(50_000)}` } },
])('a request with $what is not sent, so that nobody waits for an answer', async ({ more }) => {
  await using bus = await aBus();
  const streams = createOpenStreams(bus.nc);
  expect(streams.open({ clusterId: 'c', person: 'alice' }, { ...asked, ...more })).toBeUndefined();
  expect(streams.count({ clusterId: 'c', person: 'alice' }).inAll).toBe(0);
  streams.stop();
});

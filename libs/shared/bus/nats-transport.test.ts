import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { connectNats, unsentBytes } from './nats-transport.ts';

const info = 'INFO {"server_id":"X","version":"2.15.2","max_payload":1048576,"proto":1,"headers":true}\r\n';

test('what a connection was given and has not sent is known: the library takes it all, and the other side reads nothing', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write(info);
    socket.on('data', (data) => {
      if (data.includes('PING\r\n')) socket.write('PONG\r\n');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const { port } = server.address() as AddressInfo;
  const nc = await connectNats({ servers: `127.0.0.1:${port}`, reconnect: false });
  const [socket] = (await accepted) as [Socket];
  expect(unsentBytes(nc)).toBe(0);
  socket.pause();
  const data = Buffer.alloc(64 * 1024);
  for (let count = 0; count < 512; count++) nc.publish('a', data);
  await new Promise(setImmediate);
  expect(unsentBytes(nc)).toBeGreaterThan(16 * 1024 * 1024);
  socket.resume();
  await expect.poll(() => unsentBytes(nc)).toBe(0);
  await nc.close();
  server.close();
});

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Duplex, duplexPair } from 'node:stream';
import { expect, test } from 'vitest';
import { windowBytes } from './flow-control.ts';
import { joinSocket } from './join-socket.ts';
import { TunnelStream } from './tunnel-stream.ts';

/** A client and a member with a tunnel between them, joined to a connection at each end. */
async function joined(own: { client?: Duplex; member?: Duplex } = {}) {
  const carry = (to: () => TunnelStream) => (frame: Uint8Array) => void setImmediate(() => to().hear(frame));
  const onClosed = () => undefined;
  const near: TunnelStream = new TunnelStream({
    side: 'opening',
    hasBody: true,
    send: carry(() => far),
    onClosed,
  });
  const far: TunnelStream = new TunnelStream({
    side: 'opened',
    hasBody: true,
    send: carry(() => near),
    onClosed,
  });
  far.accept();
  far.sendHead({});
  // As an HTTP server has its connections, and as an HTTP client has its own.
  const client = await connection({ allowHalfOpen: true });
  const member = await connection({ allowHalfOpen: false });
  const ended = Promise.all([
    joinSocket(own.client ?? client.inner, near),
    joinSocket(own.member ?? member.inner, far),
  ]);
  return { client: client.outer, member: member.outer, ended };
}

async function connection(options: { allowHalfOpen: boolean }): Promise<{ inner: Socket; outer: Socket }> {
  const server = createServer(options);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const outer = connect({ port: (server.address() as { port: number }).port, allowHalfOpen: true });
  const [inner] = (await accepted) as [Socket];
  // It takes no other; those that it has stay.
  server.close();
  return { inner, outer };
}

const large = Buffer.alloc(8 * 1024 * 1024, 'abc');

test('what waits for a client that reads nothing yet comes in full, although the member has closed long before', async () => {
  const [inner, client] = duplexPair();
  const [ofAgent, member] = duplexPair({ allowHalfOpen: false });
  const { ended } = await joined({ client: inner, member: ofAgent });
  // So much that the last of it waits for credit, and no more: the connection that it came from ends all the same.
  const [first, last] = [Buffer.alloc(windowBytes - 50_000, 'abc'), Buffer.alloc(55_000, 'de')];
  const closed = once(ofAgent, 'close');
  member.resume().write(first);
  member.end(last);
  await closed;
  expect((await buffer(client)).equals(Buffer.concat([first, last]))).toBe(true);
  client.end();
  await ended;
});

test('a member that closes is heard in full by a client that goes on speaking', async () => {
  const { client, member, ended } = await joined();
  const speaking = setInterval(() => client.write('ping'), 1);
  client.on('error', () => undefined);
  member.resume();
  member.end(large);
  const read = await buffer(client);
  clearInterval(speaking);
  expect(read.length).toBe(large.length);
  client.destroy();
  await ended;
});

test('a client that says much and ends is heard in full, and answered', async () => {
  const { client, member, ended } = await joined();
  client.end(large);
  expect((await buffer(member)).equals(large)).toBe(true);
  member.end(large);
  expect((await buffer(client)).equals(large)).toBe(true);
  await ended;
});

test('a client that goes away ends the connection to the member', async () => {
  const { client, member, ended } = await joined();
  client.write('ls');
  await once(member, 'data');
  member.on('error', () => undefined);
  client.resetAndDestroy();
  await ended;
  await expect.poll(() => member.resume().readableEnded || member.destroyed).toBe(true);
});

test('a member that breaks off ends the connection to the client', async () => {
  const { client, member, ended } = await joined();
  client.on('error', () => undefined);
  member.write('half of it');
  await once(client, 'data');
  member.resetAndDestroy();
  await ended;
  await expect.poll(() => client.resume().readableEnded || client.destroyed).toBe(true);
});

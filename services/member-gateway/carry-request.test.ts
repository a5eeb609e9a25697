import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as ask } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { boundKept, TunnelStream } from '@rollcall/shared/tunnel';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { encodeFrame } from '../../libs/shared/tunnel/frame.ts';
import { carryRequest, carryUpgrade } from './carry-request.ts';

const whole = (head: object, data: Uint8Array) =>
  encodeFrame({ kind: 'data', head: Buffer.from(JSON.stringify(head)), data, isLast: true }, 0);
const ok = { status: 200, message: 'OK', headers: [] };

/** A gateway whose agent says one frame to each POST, and that answers a GET by itself; one connection to it. */
async function aGateway(said: Uint8Array, onKept?: (stream: () => TunnelStream) => (delta: number) => void) {
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.end('next');
      return;
    }
    const kept = onKept?.(() => stream);
    const stream: TunnelStream = new TunnelStream({
      side: 'opening',
      hasBody: true,
      send: () => undefined,
      onClosed: () => undefined,
      ...(kept && { onKept: kept }),
    });
    void carryRequest(stream, request, response, true);
    // When the upload stands: the member takes none of it.
    const hear = () => (request.isPaused() ? stream.hear(said) : setImmediate(hear));
    hear();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { port } = server.address() as AddressInfo;
  return {
    async ask(method: string, body?: Uint8Array) {
      const sent = ask({ host: '127.0.0.1', port, agent, method });
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: answer.statusCode, body: await text(answer) };
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
const upload = Buffer.alloc(8 * 1024 * 1024);

test('an answer for which there is no room any more is told as 504, not as one without a body', async () => {
  const other = { keptBytes: 50_000, destroy: () => undefined };
  await using gateway = await aGateway(whole(ok, Buffer.alloc(59_000, 'x')), (stream) => {
    const bound = boundKept(() => [other, stream()], 100_000);
    bound(other.keptBytes);
    return bound;
  });
  const { status, body } = await gateway.ask('POST', upload);
  expect(status).toBe(504);
  expect(body).toContain('more is kept for readers');
});

test.each([
  { name: 'refused', said: whole({ refused: 'who', why: 'no' }, Buffer.alloc(0)), status: 403 },
  { name: 'answered in one frame', said: whole(ok, Buffer.from('x')), status: 200 },
  { name: 'broken off', said: encodeFrame({ kind: 'abort', reason: 'no more' }, 0), status: 504 },
])('after an upload that is $name half-way the next request is answered', async ({ said, status }) => {
  await using gateway = await aGateway(said);
  expect((await gateway.ask('POST', upload)).status).toBe(status);
  expect(await gateway.ask('GET')).toEqual({ status: 200, body: 'next' });
});

/** A client that asks for an upgrade, and the stream of its request. */
function anUpgrade() {
  const [socket, client] = duplexPair();
  const stream = new TunnelStream({
    side: 'opening',
    hasBody: true,
    send: () => undefined,
    onClosed: () => undefined,
  });
  const carried = carryUpgrade(stream, { socket, begun: Buffer.alloc(0), upgrade: 'websocket' });
  return { client, stream, carried };
}

test.each([
  ['x-one', '1\r\nSet-Cookie: a=b'],
  // Cut to one byte each they are a line break.
  ['x-one', '1\u010d\u010aSet-Cookie: a=b'],
  ['x-one\u010d\u010aSet-Cookie', 'a=b'],
  ['Set-Cookie: a', 'b'],
])('an agent that answers an upgrade says nothing by a header but that header: %j', async (name, value) => {
  const { client, stream, carried } = anUpgrade();
  stream.hear(whole({ ...ok, headers: [[name, value]] }, Buffer.alloc(0)));
  const said = await text(client);
  await carried;
  expect(said).toMatch(/^HTTP\/1\.1 504 /);
  expect(said).not.toContain('\r\nSet-Cookie');
});

/** A client on a connection of its own that has asked for an upgrade, with `first` right behind it, and the stream of its request. */
async function aClient(first = '') {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upgraded = once(server, 'upgrade');
  const client = connect({ port: (server.address() as AddressInfo).port });
  client.on('error', () => undefined);
  client.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n${first}`);
  const [, socket, begun] = (await upgraded) as [IncomingMessage, Socket, Buffer];
  server.close();
  const sent: Uint8Array[] = [];
  const stream = new TunnelStream({
    side: 'opening',
    hasBody: true,
    send: (frame) => void sent.push(frame),
    onClosed: () => undefined,
  });
  const carried = carryUpgrade(stream, { socket, begun, upgrade: 'x' });
  const said = () => Buffer.concat(sent).toString('latin1');
  return { client, stream, said, carried };
}

test.each([
  { name: 'ends its side', leave: (client: Socket) => client.end() },
  { name: 'breaks off', leave: (client: Socket) => client.resetAndDestroy() },
])('a client that $name before its upgrade is answered is not waited for', async ({ leave }) => {
  const { client, stream, carried } = await aClient();
  leave(client);
  await expect.poll(() => stream.destroyed).toBe(true);
  await carried;
});

test('what a client says before its upgrade is answered goes to the member, and nothing of it is lost', async () => {
  const { client, stream, said, carried } = await aClient('first,');
  client.write('early,');
  await setTimeout(20);
  stream.hear(
    encodeFrame(
      {
        kind: 'data',
        head: Buffer.from(JSON.stringify({ ...ok, status: 101 })),
        data: Buffer.from('welcome'),
        isLast: false,
      },
      0,
    ),
  );
  stream.hear(encodeFrame({ kind: 'credit', sizeBytes: 1000 }, 1));
  const heard = text(client);
  client.end('late');
  await expect.poll(said).toMatch(/first,.*early,.*late/s);
  stream.hear(encodeFrame({ kind: 'data', data: Buffer.from('bye'), isLast: true }, 2));
  expect(await heard).toMatch(/^HTTP\/1\.1 101 .*welcomebye$/s);
  await carried;
});

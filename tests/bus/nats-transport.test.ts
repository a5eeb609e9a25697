import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectNats } from '@rollcall/shared/bus';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
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
const ignore = () => undefined;
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

test('a machine that does not answer is given up long before the whole time is', async () => {
  // Nobody accepts, so once its queue is full the kernel drops what asks for a connection, as one without power does.
  const script =
    "const s = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  const queued: Socket[] = [];
  for (let isTaken = true; isTaken;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    queued.push(socket);
    isTaken = await Promise.race([once(socket, 'connect').then(() => true), delay(500, false)]);
  }
  const tls = { handshakeFirst: true };
  const connecting = connectNats({ servers: `127.0.0.1:${port}`, tls, timeout: 30_000, reconnect: false });
  await expect(connecting).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  child.kill('SIGKILL');
  for (const socket of queued) socket.destroy();
});

test('what a server without TLS says is heard once', async () => {
  const { tls_required: _none, ...plainInfo } = info;
  const plain = createServer((socket) => {
    socket.on('error', () => undefined).write(`INFO ${JSON.stringify(plainInfo)}\r\n`);
    socket.on('data', (data) => {
      if (data.includes('PING')) socket.write('PONG\r\n');
      const sid = /SUB x +(\d+)/.exec(data.toString())?.[1];
      if (sid !== undefined) socket.write(`MSG x ${sid} 1\r\na\r\n`);
    });
  });
  await once(plain.listen(0, '127.0.0.1'), 'listening');
  const { port } = plain.address() as AddressInfo;
  const nc = await connectNats({ servers: `127.0.0.1:${port}`, tls: null, reconnect: false });
  const heard: string[] = [];
  nc.subscribe('x', { callback: (_error, message) => void heard.push(message.string()) });
  await nc.flush();
  await nc.flush();
  await nc.close();
  plain.close();
  expect(heard).toEqual(['a']);
});

test('a socket that is given is the only connection, whatever the address leads to', async () => {
  const ca = createCa({ commonName: 'hub', validForDays: 1, nowMs: Date.now() });
  const leaf = issueCertificate({
    ca,
    commonName: 'hub',
    dnsNames: ['hub.rollcall.test'],
    ipAddresses: [],
    usages: ['server'],
    validForMs: 3_600_000,
    nowMs: Date.now(),
  });
  let connections = 0;
  const secured = createTlsServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem }, (socket) => {
    socket.on('error', () => undefined).write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on('data', (data) => {
      if (data.includes('PING')) socket.write('PONG\r\n');
    });
  }).on('connection', () => void connections++);
  await once(secured.listen(0, '127.0.0.1'), 'listening');
  // As an agent behind a proxy: no DNS knows its hub, and what leads there is open already.
  const dial = async (servername: string) => {
    const socket = connect((secured.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    const tls = { ca: ca.certificatePem, handshakeFirst: true, socket, servername };
    return connectNats({ servers: 'hub.rollcall.test:4222', tls, resolve: false, reconnect: false });
  };
  await (await dial('hub.rollcall.test')).close();
  expect(connections).toBe(1);
  await expect(dial('other.rollcall.test')).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  secured.close();
});

test('a server that ends a connection before TLS begins is told at once', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-'));
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, createCa({ commonName: 'hub', validForDays: 1, nowMs: Date.now() }).certificatePem);
  const dying = createServer((socket) => void socket.destroy());
  await once(dying.listen(0, '127.0.0.1'), 'listening');
  const { port } = dying.address() as AddressInfo;
  const tls = { caFile, handshakeFirst: true };
  for (let time = 0; time < 20; time++) {
    const connecting = connectNats({ servers: `127.0.0.1:${port}`, tls, timeout: 5000, reconnect: false });
    await expect(connecting).rejects.not.toThrow('timeout');
  }
  dying.close();
  await rm(directory, { recursive: true });
  expect(unhandled.splice(0)).toEqual([]);
});

test('who comes back to a server that is killed, and late when it is there, ends no process when it is given up', async () => {
  const nowMs = Date.now();
  const ca = createCa({ commonName: 'hub', validForDays: 1, nowMs });
  const names = { commonName: 'hub', dnsNames: [], ipAddresses: ['127.0.0.1'] };
  const leaf = issueCertificate({ ca, ...names, usages: ['server'], validForMs: 3_600_000, nowMs });
  const startLate = async (port = 0) => {
    const late = fork(new URL('late-server.ts', import.meta.url), [JSON.stringify({ ...leaf, port, info })]);
    const [address] = (await once(late, 'message')) as [AddressInfo];
    return { late, port: address.port };
  };
  let { late, port } = await startLate();
  const isOver = AbortSignal.timeout(8000);
  const connecting = async () => {
    const options = { servers: `127.0.0.1:${port}`, tls: { ca: ca.certificatePem, handshakeFirst: true } };
    const again = { maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitterTLS: 200, timeout: 300 };
    for (;;) {
      const nc = await connectNats({ ...options, ...again, resolve: false }).catch(ignore);
      if (nc !== undefined || isOver.aborted) return nc;
    }
  };
  const all = Array.from({ length: 60 }, connecting);
  while (!isOver.aborted) {
    await delay(1500);
    late.kill('SIGKILL');
    ({ late, port } = await startLate(port));
  }
  for (const nc of await Promise.all(all)) await nc?.close();
  late.kill();
  expect(unhandled.splice(0)).toEqual([]);
});

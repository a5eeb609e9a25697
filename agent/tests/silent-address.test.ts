import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { tlsPlace } from '../hub/secure-connection.ts';

test('a process that stood still for longer takes the connection that has come meanwhile', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connecting = tlsPlace({ host: '127.0.0.1', port }, {});
  // What is late is looked at first when the next round begins.
  await setImmediate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1700);
  const { socket } = await connecting;
  expect(socket.connecting).toBe(false);
  socket.destroy();
});

/** A port that says nothing: its server stands still, and its kernel drops first packets while as many connections wait as it has room for. */
async function silentPort(): Promise<number> {
  const program = `require('net').createServer()
    .listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port) })`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString('utf8'));
  child.kill('SIGSTOP');
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    if ((await Promise.race([once(socket, 'connect'), delay(300)])) === undefined) return port;
  }
}

/** The sockets that this process connects from now on. */
function socketsMade(): readonly Socket[] {
  const sockets: Socket[] = [];
  const made = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', made);
  onTestFinished(() => void unsubscribe('net.client.socket', made));
  return sockets;
}

test.each([
  { which: 'the last is tried twice', isLast: true, tries: 2 },
  { which: 'another is tried once', isLast: false, tries: 1 },
])('of silent ones $which', async ({ isLast, tries }) => {
  const port = await silentPort();
  const sockets = socketsMade();
  await expect(tlsPlace({ host: '127.0.0.1', port }, {}, isLast)).rejects.toMatchObject({
    code: 'ETIMEDOUT',
  });
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual(Array.from({ length: tries }, () => true));
});

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { connectBus } from '@rollcall/shared/bus';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Ends each of the first connections in the middle of its handshake, and passes on those that follow. */
async function startBusyServer(handshakesToEnd: number) {
  let taken = 0;
  const server = createServer((socket) => {
    taken++;
    if (taken <= handshakesToEnd) {
      socket.once('data', () => socket.destroy());
      return;
    }
    const onward = connect(hub.port, '127.0.0.1');
    pipeline(socket, onward, () => undefined);
    pipeline(onward, socket, () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, taken: () => taken };
}

const connectTo = (server: string, timeout?: number) =>
  connectBus({ ...hub.address, servers: [server] }, hub.credentialsOf('ops'), 'ops', timeout);

test('a server that gives handshakes up is asked again', async () => {
  const busy = await startBusyServer(2);
  const nc = await connectTo(busy.address);
  await nc.flush();
  await nc.close();
  expect(busy.taken()).toBe(3);
});

test('one that never takes one is said to be away when the time is up', async () => {
  const busy = await startBusyServer(Number.POSITIVE_INFINITY);
  await expect(connectTo(busy.address, 1000)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  expect(busy.taken()).toBeGreaterThan(1);
});

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLocalAgent } from '../../cli/up/local-agent.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** Ten thousand requests and five hundred that were given up, and what is open afterwards: streams, and sockets of this process, which is gateway and agent. */
let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({ settings: { 'member-gateway': { healthPort: '0' } } });
  await startLocalAgent(hub.up, { clusterName: 'local' });
  await until('the hub shows who gets in', async () => (await hub.cluster('local'))?.status?.memberAccess);
});
afterAll(() => hub[Symbol.asyncDispose]());

const path = '/apis/proxy.rollcall.dev/v1alpha1/managedclusters/local/proxy';

async function openStreams(): Promise<number> {
  const gateway = hub.up.services.find(({ name }) => name === 'member-gateway');
  const text = await (await fetch(`http://127.0.0.1:${gateway?.healthPort}/metrics`)).text();
  return Number(/^rollcall_gateway_streams (\d+)/m.exec(text)?.[1]);
}

const sockets = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;

test('10,000 requests and 500 that are given up leave no stream and no socket', async () => {
  const { server, caPem, certPem, keyPem } = hub.up.plane.userAccess('rollcall-admin', ['system:masters']);
  const url = new URL(server);
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 16 }), {
    [Symbol.dispose]() {
      agent.destroy();
    },
  });
  const ask = (at: string) => {
    const where = { host: url.hostname, port: url.port, path: `${path}${at}`, agent };
    return httpsRequest({ ...where, ca: caPem, cert: certPem, key: keyPem });
  };
  async function get(): Promise<number> {
    const asked = ask('/api/v1/namespaces/default').end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode ?? 0;
  }
  async function giveUp(): Promise<void> {
    const asked = ask('/api/v1/namespaces?watch=true').end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    await once(answer, 'data');
    asked.destroy();
  }
  async function many(count: number, run: () => Promise<unknown>): Promise<void> {
    let left = count;
    const worker = async () => {
      while (left-- > 0) await run();
    };
    await Promise.all(Array.from({ length: 16 }, worker));
  }
  await many(64, get);
  const before = sockets();

  const statuses = new Set<number>();
  await many(10_000, async () => statuses.add(await get()));
  await many(500, giveUp);
  expect([...statuses]).toEqual([200]);
  await until('no stream is open', async () => (await openStreams()) === 0);
  // Connections that are kept for the next request are few; those of what was given up are gone.
  await until('no more sockets than before, and some', async () => sockets() <= before + 32);
  expect(await get()).toBe(200);
});

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLocalAgent } from '../../cli/up/local-agent.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** Ten thousand requests and five hundred that were given up, and what is open afterwards: streams, and sockets of this process, which is gateway and agent. */
let hub: TestEmbeddedHub;
/** Half of what one member carries. */
const mostOfOne = 60;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({
    settings: { 'member-gateway': { healthPort: '0', streamsPerCluster: String(2 * mostOfOne) } },
  });
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

/** Requests of one person, on a few connections that are kept. */
function requestsOf(person: string) {
  const { server, caPem, certPem, keyPem } = hub.up.plane.userAccess(person, ['system:masters']);
  const url = new URL(server);
  const kept = new Agent({ keepAlive: true, maxSockets: 16 });
  const ask = (at: string, agent: Agent | false = kept) => {
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
  /** @returns what gives it up */
  async function watch(agent?: false): Promise<() => void> {
    const asked = ask('/api/v1/namespaces?watch=true', agent).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    await once(answer, 'data');
    return () => void asked.destroy();
  }
  return { get, watch, [Symbol.dispose]: () => kept.destroy() };
}

async function many(count: number, run: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

test('10,000 requests and 500 that are given up leave no stream and no socket', async () => {
  using admin = requestsOf('rollcall-admin');
  await many(64, admin.get);
  const before = sockets();

  const statuses = new Set<number>();
  await many(10_000, async () => statuses.add(await admin.get()));
  await many(500, async () => (await admin.watch())());
  expect([...statuses]).toEqual([200]);
  await until('no stream is open', async () => (await openStreams()) === 0);
  // Connections that are kept for the next request are few; those of what was given up are gone.
  await until('no more sockets than before, and some', async () => sockets() <= before + 32);
  expect(await admin.get()).toBe(200);
});

test('who has as many requests open as one person may is refused each further one, while others are answered', async () => {
  using admin = requestsOf('rollcall-admin');
  using other = requestsOf('other');
  const open = await Promise.all(Array.from({ length: mostOfOne }, () => admin.watch(false)));
  try {
    expect(await openStreams()).toBe(mostOfOne);
    const [refused, answered] = [new Set<number>(), new Set<number>()];
    await many(1000, async () => refused.add(await admin.get()));
    // By the agent, whose owner does not know that person.
    await many(16, async () => answered.add(await other.get()));
    expect([[...refused], [...answered]]).toEqual([[429], [403]]);
  } finally {
    for (const giveUp of open) giveUp();
  }
  await until('no stream is open', async () => (await openStreams()) === 0);
  expect(await admin.get()).toBe(200);
});

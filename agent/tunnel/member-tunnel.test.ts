import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createMemberTunnel, type TunnelLink } from './member-tunnel.ts';

afterEach(() => void vi.useRealTimers());

const request = (stream: number, user = 'nobody-who-is-let-in') =>
  Buffer.from(
    JSON.stringify({
      version: 1,
      gateway: 'gateway',
      stream: `s${stream}`,
      method: 'GET',
      path: '/version',
      headers: [],
      hasBody: false,
      user,
      groups: [],
    }),
  );

const options = {
  clusterId: 'c',
  access: { as: 'people', users: ['alice'], groups: {} },
  member: {
    server: 'https://127.0.0.1:1',
    namespace: 'default',
    clusterName: 'c',
    contextName: 'c',
    userName: 'c',
  },
  version: '0',
  logger: pino({ level: 'silent' }),
  ownLink: () => undefined,
  refusal: async () => undefined,
  refusalNow: () => undefined,
} as const;

test('what is asked while the connection for it is not there yet is bounded like what is open', async () => {
  const answered = new Set<string>();
  const dialed = Promise.withResolvers<TunnelLink>();
  const ended = Promise.withResolvers<void>();
  const tunnel = createMemberTunnel({
    ...options,
    dial: () => dialed.promise,
  });
  for (let stream = 0; stream < 5000; stream++) tunnel.open(request(stream));
  dialed.resolve({
    closed: ended.promise,
    isClosed: () => false,
    waitingBytes: () => 0,
    publish: (subject) => void answered.add(subject),
    subscribe: () => undefined,
    flush: async () => undefined,
    close: async () => ended.resolve(),
  });
  await expect.poll(() => answered.size).toBeGreaterThan(0);
  await tunnel.stop();
  expect(answered.size).toBeLessThanOrEqual(1000);
});

test('what the hub shuts while a stream is being opened is refused', async () => {
  const said: string[] = [];
  const ended = Promise.withResolvers<void>();
  const tunnel = createMemberTunnel({
    ...options,
    refusalNow: () => ({ refused: 'off', why: 'shut' }),
    dial: async () => ({
      closed: ended.promise,
      isClosed: () => false,
      waitingBytes: () => 0,
      publish: (_subject, data) => void said.push(Buffer.from(data).toString('latin1')),
      subscribe: () => undefined,
      flush: async () => undefined,
      close: async () => ended.resolve(),
    }),
  });
  tunnel.open(request(1, 'alice'));
  await expect.poll(() => said.join('\n')).toContain('"refused":"off"');
  await tunnel.stop();
});

/** A member that takes connections and answers nothing. */
async function aSilentMember() {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  return { member: { ...options.member, server }, end: () => void silent.close() };
}

/** Connections to the hub, in the order in which they were made; to close one takes as long as the test wants. */
function links() {
  const made: { readonly said: string[]; waitingBytes: number; isClosing: boolean; close(): void }[] = [];
  async function dial(): Promise<TunnelLink> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const link = { said: [] as string[], waitingBytes: 0, isClosing: false, close: resolve };
    made.push(link);
    return {
      closed,
      isClosed: () => false,
      waitingBytes: () => link.waitingBytes,
      // What closes takes nothing any more.
      publish: (_subject, data) =>
        void (link.isClosing || link.said.push(Buffer.from(data).toString('latin1'))),
      subscribe: () => undefined,
      flush: async () => undefined,
      close() {
        link.isClosing = true;
        return closed;
      },
    };
  }
  return { made, dial };
}
const idleMs = 60_000;

test('what is asked while the connection is closed for being idle goes over a new one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { made, dial } = links();
  const tunnel = createMemberTunnel({ ...options, dial });
  tunnel.open(request(1));
  await vi.waitFor(() => expect(made[0]?.said).toHaveLength(1));
  await vi.waitFor(() => expect(tunnel.isBusy()).toBe(false));
  await vi.advanceTimersByTimeAsync(idleMs);
  expect(made[0]?.isClosing).toBe(true);
  tunnel.open(request(2));
  await vi.waitFor(() => expect(made[1]?.said).toHaveLength(1));
  made[0]?.close();
  made[1]?.close();
  await tunnel.stop();
});

test('a connection with a stream is not closed for being idle, although none was open while that one was let in', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { made, dial } = links();
  const { member, end } = await aSilentMember();
  const answers: PromiseWithResolvers<undefined>[] = [];
  const refusal = () => {
    const answer = Promise.withResolvers<undefined>();
    answers.push(answer);
    return answer.promise;
  };
  const tunnel = createMemberTunnel({ ...options, member, dial, refusal });
  tunnel.open(request(1));
  tunnel.open(request(2, 'alice'));
  await vi.waitFor(() => expect(answers).toHaveLength(2));
  answers[0]?.resolve(undefined);
  await vi.waitFor(() => expect(made[0]?.said).toHaveLength(1));
  await vi.waitFor(() => expect(tunnel.isBusy()).toBe(false));
  answers[1]?.resolve(undefined);
  await vi.waitFor(() => expect(tunnel.isBusy()).toBe(true));
  await vi.advanceTimersByTimeAsync(idleMs);
  expect(made[0]?.isClosing).toBe(false);
  made[0]?.close();
  await tunnel.stop();
  end();
});

test('an answer waits while the line to the hub takes no more, and costs the agent no memory meanwhile', async () => {
  const { made, dial } = links();
  const tunnel = createMemberTunnel({
    ...options,
    async dial() {
      const link = await dial();
      const [first] = made;
      if (first) first.waitingBytes = 8 * 1024 * 1024;
      return link;
    },
  });
  for (let stream = 0; stream < 10; stream++) tunnel.open(request(stream));
  await vi.waitFor(() => expect(tunnel.isBusy()).toBe(true));
  await setTimeout(60);
  expect(made[0]?.said).toEqual([]);
  if (made[0]) made[0].waitingBytes = 0;
  await vi.waitFor(() => expect(made[0]?.said).toHaveLength(10));
  made[0]?.close();
  await tunnel.stop();
});

test('a connection that is lost while somebody is let in over it leaves nothing behind', async () => {
  const { member, end } = await aSilentMember();
  const { promise: letIn, resolve } = Promise.withResolvers<undefined>();
  const { promise: closed, resolve: lose } = Promise.withResolvers<void>();
  let isClosed = false;
  const said: string[] = [];
  const tunnel = createMemberTunnel({
    ...options,
    member,
    refusal: () => letIn,
    ownLink: () => ({ publish: (_subject, data) => void said.push(Buffer.from(data).toString('latin1')) }),
    dial: async () => ({
      closed,
      isClosed: () => isClosed,
      waitingBytes: () => 0,
      publish: () => undefined,
      subscribe: () => undefined,
      flush: async () => undefined,
      close: async () => undefined,
    }),
  });
  tunnel.open(request(1, 'alice'));
  await setTimeout(10);
  isClosed = true;
  lose();
  await setTimeout(10);
  resolve(undefined);
  await expect.poll(() => said.join('\n')).toContain('"refused":"busy"');
  await expect.poll(() => tunnel.isBusy()).toBe(false);
  await tunnel.stop();
  end();
});

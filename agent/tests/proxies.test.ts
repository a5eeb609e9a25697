import type { EventLog } from '@rollcall/shared/bus';
import { spkiPin } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aLeaf, anotherCa, plainImpostor, tlsImpostor } from '../../tests/attacks/impostor.ts';
import { type ConnectProxyOptions, startConnectProxy } from '../../tests/harness/connect-proxy.ts';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import type { TestHub } from '../../tests/harness/test-hub.ts';
import { type AgentOptions, type HubNetwork, parseProxy } from '../main.ts';
import { type AgentUnderTest, startAgent } from './agent-under-test.ts';
import { type RegisteringHub, startRegisteringHub } from './registering-hub.ts';

/** No DNS knows it, and only the proxy knows where it leads. */
const hubName = 'hub.rollcall.test';

let world: RegisteringHub;
let hub: TestHub;
let approverLog: EventLog;
let count = 0;

beforeAll(async () => {
  world = await startRegisteringHub({ advertised: [hubName] });
  ({ hub, approverLog } = world);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const toHub = () => ({ host: '127.0.0.1', port: hub.port });
const aProxy = (options: Partial<ConnectProxyOptions> = {}) =>
  startConnectProxy({ target: toHub, ...options });

/** An agent with a token of its own, that can reach its hub through the proxy only. */
async function anAgentBehind(
  network: HubNetwork,
  more: Partial<AgentOptions> = {},
): Promise<AgentUnderTest & { clientId: string }> {
  const { text } = await declareToken(approverLog, hub.hub.hubId);
  const clientId = `behind-a-proxy-${count++}`;
  const agent = await startAgent(hub, {
    token: text,
    clientId,
    hub: [`${hubName}:4222`],
    network,
    trust: { pins: [spkiPin(hub.address.caPem)] },
    ...more,
  });
  return { ...agent, clientId };
}

const failed = ({ heard }: AgentUnderTest) => heard.next(({ detail }) => detail.code !== undefined);
const credentials = { user: 'edge', password: 'p@ss:word/1' };

describe.each([
  { name: 'in plain HTTP', isTls: false, credentials: undefined },
  { name: 'in plain HTTP, with credentials', isTls: false, credentials },
  { name: 'over TLS', isTls: true, credentials: undefined },
  { name: 'over TLS, with credentials', isTls: true, credentials },
])('through a proxy that is spoken to $name', ({ isTls, credentials: wanted }) => {
  test('an agent joins, is let in, and comes back when the proxy has cut it', async () => {
    await using proxy = await aProxy({ isTls, ...(wanted ? { credentials: wanted } : {}) });
    await using one = await anAgentBehind({
      proxy: parseProxy(proxy.urlWithCredentials),
      proxyCaPem: isTls ? proxy.caPem : undefined,
    });
    await one.heard.next(({ phase }) => phase === 'waiting');
    await decideAs(approverLog, one.clientId, 'approved');
    await one.agent.admitted();
    expect(new Set(proxy.asked)).toEqual(new Set([`${hubName}:4222`]));
    await one.heard.next(({ phase }) => phase === 'ready');
    proxy.cutAll();
    await one.heard.next(({ phase, message }) => phase === 'connect' && message.includes('member'));
  });
});

describe('an agent says what is in the way', () => {
  test.each([
    { behaviour: 'refuse', code: 'PROXY_REFUSED' },
    { behaviour: 'bad-gateway', code: 'HUB_UNREACHABLE' },
    { behaviour: 'garbage', code: 'PROXY_NOT_HTTP' },
    { behaviour: 'cut', code: 'PROXY_UNREACHABLE' },
    { behaviour: 'hang', code: 'PROXY_UNREACHABLE' },
  ] as const)(
    'a proxy that does this: $behaviour → $code; and gets through once it does not',
    async ({ behaviour, code }) => {
      await using proxy = await aProxy();
      proxy.become(behaviour);
      await using agent = await anAgentBehind({ proxy: parseProxy(proxy.url) });
      const { detail, message } = await failed(agent);
      expect(detail.code).toBe(code);
      expect(message).toContain(proxy.url);
      proxy.become('open');
      await agent.heard.next(({ phase }) => phase === 'waiting');
    },
  );

  test.each([
    { name: 'none', url: (proxy: { url: string }) => proxy.url },
    { name: 'wrong ones', url: (proxy: { url: string }) => proxy.url.replace('//', '//edge:wr0ng@') },
  ])(
    'a proxy that asks for credentials and is given $name: PROXY_AUTH, and they are never said',
    async ({ url }) => {
      await using proxy = await aProxy({ credentials });
      await using agent = await anAgentBehind({ proxy: parseProxy(url(proxy)) });
      expect((await failed(agent)).detail.code).toBe('PROXY_AUTH');
      expect(JSON.stringify(agent.heard.events)).not.toMatch(/wr0ng|edge:/);
    },
  );

  test('nobody at the address of the proxy: PROXY_UNREACHABLE', async () => {
    await using agent = await anAgentBehind({ proxy: parseProxy('http://127.0.0.1:1') });
    expect((await failed(agent)).detail.code).toBe('PROXY_UNREACHABLE');
  });

  test('a proxy over TLS whose CA it was not given: PROXY_UNTRUSTED, and its credentials are not sent', async () => {
    await using proxy = await aProxy({ isTls: true, credentials });
    await using agent = await anAgentBehind({ proxy: parseProxy(proxy.urlWithCredentials) });
    expect((await failed(agent)).detail.code).toBe('PROXY_UNTRUSTED');
    expect(proxy.asked).toEqual([]);
  });

  test('a proxy without TLS that is spoken to with it: PROXY_NOT_HTTP', async () => {
    await using plain = await plainImpostor('HTTP/1.1 200 OK\r\n\r\n');
    await using agent = await anAgentBehind({ proxy: parseProxy(`https://${plain.address}`) });
    expect((await failed(agent)).detail.code).toBe('PROXY_NOT_HTTP');
  });
});

describe('a proxy is trusted with nothing', () => {
  function placeOf(address: string) {
    const [host = '', port] = address.split(':');
    return { host, port: Number(port) };
  }

  test.each(['ca', 'pin'] as const)(
    'one that ends TLS itself, with a certificate for the right name: HUB_CA_WRONG, and it hears nothing (known by its %s)',
    async (by) => {
      const ca = anotherCa();
      await using impostor = await tlsImpostor(aLeaf(ca), { shown: ca.certificatePem });
      await using proxy = await aProxy({ target: () => placeOf(impostor.address) });
      const { caPem } = hub.address;
      await using agent = await anAgentBehind(
        { proxy: parseProxy(proxy.url) },
        { hub: ['localhost:4222'], trust: by === 'ca' ? { caPem } : { pins: [spkiPin(caPem)] } },
      );
      expect((await failed(agent)).detail.code).toBe('HUB_CA_WRONG');
      expect(impostor.heard().throughTls).toBe('');
    },
  );

  test('one that leads to a part of the hub with another name: HUB_CERT_NAME', async () => {
    await using proxy = await aProxy();
    await using agent = await anAgentBehind(
      { proxy: parseProxy(proxy.url) },
      { hub: ['other.rollcall.test:4222'] },
    );
    expect((await failed(agent)).detail.code).toBe('HUB_CERT_NAME');
  });

  test('one that leads to something that is no hub: HUB_NOT_TLS', async () => {
    await using plain = await plainImpostor('SSH-2.0-somebody\r\n');
    await using proxy = await aProxy({ target: () => placeOf(plain.address) });
    await using agent = await anAgentBehind({ proxy: parseProxy(proxy.url) });
    expect((await failed(agent)).detail.code).toBe('HUB_NOT_TLS');
  });
});

test('what NO_PROXY names is reached without the proxy, also by the address that a name is an alias of', async () => {
  await using proxy = await aProxy();
  await using agent = await anAgentBehind(
    {
      proxy: parseProxy(proxy.url),
      noProxy: ['127.0.0.0/8'],
      hostAliases: { [hubName]: '127.0.0.1' },
    },
    { hub: [`${hubName}:${hub.port}`] },
  );
  await agent.heard.next(({ phase }) => phase === 'waiting');
  expect(proxy.asked).toEqual([]);
});

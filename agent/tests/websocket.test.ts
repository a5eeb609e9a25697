import { createServer as createTlsServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import type { EventLog } from '@rollcall/shared/bus';
import { createCa, decodeJwt, issueCertificate, nkeyFromSeed, spkiPin } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { aLeaf, anotherCa, tlsImpostor } from '../../tests/attacks/impostor.ts';
import { declareToken } from '../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { dialHub } from '../session/hub-connection.ts';
import { openTls } from '../hub/secure-connection.ts';
import { type AgentUnderTest, startAgent } from './agent-under-test.ts';
import { type RegisteringHub, startRegisteringHub } from './registering-hub.ts';

let world: RegisteringHub;
let hub: TestHub;
let approverLog: EventLog;
let count = 0;

beforeAll(async () => {
  world = await startRegisteringHub({ withWebSocket: true });
  ({ hub, approverLog } = world);
});
afterAll(() => world?.[Symbol.asyncDispose]());

async function anAgent(address: string, by: 'ca' | 'pin' = 'pin'): Promise<AgentUnderTest> {
  const { text } = await declareToken(approverLog, hub.hub.hubId);
  const { caPem } = hub.address;
  return startAgent(hub, {
    token: text,
    clientId: `over-websocket-${count++}`,
    hub: [address],
    trust: by === 'ca' ? { caPem } : { pins: [spkiPin(caPem)] },
  });
}

const failed = ({ heard }: AgentUnderTest) => heard.next(({ detail }) => detail.code !== undefined);

test.each(['ca', 'pin'] as const)(
  'an agent with a token asks over WebSocket, knowing its hub by its %s',
  async (by) => {
    await using agent = await anAgent(`wss://localhost:${hub.websocketPort}`, by);
    expect((await agent.heard.next(({ phase }) => phase === 'waiting')).detail.clusterId).toBeDefined();
  },
);

describe('what is wrong is found by the same checks', () => {
  test.each(['ca', 'pin'] as const)(
    'somebody with another CA: HUB_CA_WRONG, and hears nothing (known by its %s)',
    async (by) => {
      const ca = anotherCa();
      await using impostor = await tlsImpostor(aLeaf(ca), { shown: ca.certificatePem });
      await using agent = await anAgent(`wss://${impostor.address}`, by);
      expect((await failed(agent)).detail.code).toBe('HUB_CA_WRONG');
      expect(impostor.heard().throughTls).toBe('');
    },
  );

  test('NATS itself, where WebSocket was expected: HUB_NOT_WEBSOCKET', async () => {
    await using agent = await anAgent(`wss://localhost:${hub.port}`);
    expect((await failed(agent)).detail.code).toBe('HUB_NOT_WEBSOCKET');
  });

  test('a web server of the same CA: HUB_NOT_WEBSOCKET', async () => {
    const nowMs = Date.now();
    const ca = createCa({ commonName: 'hub', validForDays: 1, nowMs });
    const leaf = issueCertificate({
      ca,
      commonName: 'web',
      dnsNames: ['localhost'],
      ipAddresses: ['127.0.0.1'],
      usages: ['server'],
      validForMs: 3_600_000,
      nowMs,
    });
    const web = createTlsServer({ cert: leaf.certificatePem + ca.certificatePem, key: leaf.privateKeyPem });
    web.on('secureConnection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'));
    });
    await new Promise<void>((resolve) => void web.listen(0, '127.0.0.1', resolve));
    const { port } = web.address() as AddressInfo;
    const { text } = await declareToken(approverLog, hub.hub.hubId);
    try {
      await using agent = await startAgent(hub, {
        token: text,
        clientId: `over-websocket-${count++}`,
        hub: [`wss://localhost:${port}`],
        trust: { caPem: ca.certificatePem },
      });
      const { detail, message } = await failed(agent);
      expect(detail.code).toBe('HUB_NOT_WEBSOCKET');
      expect(message).toContain('404');
    } finally {
      web.close();
    }
  });
});

test('who has nothing may come over WebSocket only where the hub listens for it', async () => {
  const kindsOf = ({ hub: { sentinelJwt } }: TestHub) =>
    decodeJwt(sentinelJwt)?.nats['allowed_connection_types'];
  expect(kindsOf(hub)).toEqual(['STANDARD', 'WEBSOCKET']);
  await using without = await startTestHub();
  expect(kindsOf(without)).toEqual(['STANDARD']);
});

describe('whoever reaches the port for WebSocket', () => {
  const address = () => ({ host: 'localhost', port: hub.websocketPort, isWebSocket: true as const });
  const openSecured = () => openTls(address(), {}, { ca: hub.address.caPem });

  test('hears nothing without WebSocket, and is let go', async () => {
    const secured = await openSecured();
    let heard = '';
    secured.on('data', (data: Buffer) => void (heard += data.toString('latin1')));
    await new Promise((resolve) => void secured.once('close', resolve));
    expect(heard).not.toContain('INFO');
  });

  test('is let go when it says nothing', async () => {
    const secured = await openSecured();
    const socket = new WebSocket(`ws://localhost:${hub.websocketPort}/`, {
      createConnection: () => secured,
      perMessageDeflate: false,
      handshakeTimeout: 10_000,
      maxPayload: 65_536,
    });
    let heard = '';
    socket.on('message', (data) => void (heard += data.toString('latin1')));
    await new Promise((resolve) => void socket.once('close', resolve));
    expect(heard).toContain('Authentication Timeout');
  });

  async function answerTo(headers: string): Promise<string> {
    const secured = await openSecured();
    secured.write(
      `GET / HTTP/1.1\r\nHost: localhost:${hub.websocketPort}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n${headers}\r\n`,
    );
    const [data] = await new Promise<[Buffer]>(
      (resolve) => void secured.once('data', (...all: [Buffer]) => resolve(all)),
    );
    secured.destroy();
    return data.toString('latin1');
  }

  test('is refused as a page of another origin', async () => {
    expect(await answerTo('Origin: https://elsewhere.example\r\n')).toContain('403');
    expect(await answerTo('')).toContain('101');
  });

  test('is not given compression, however it asks', async () => {
    const answer = await answerTo(
      'Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover\r\n',
    );
    expect(answer).toContain('101');
    expect(answer.toLowerCase()).not.toContain('permessage-deflate');
  });

  test('can not be a service there, with the credentials of one', async () => {
    const { jwt, seed } = hub.credentialsOf('registrar');
    const link = await dialHub(
      { role: 'member', jwt },
      {
        addresses: [address()],
        caPem: hub.address.caPem,
        clusterId: 'registrar',
        ownKey: nkeyFromSeed(seed),
        tokenKey: undefined,
      },
    );
    expect(link).toBeUndefined();
  });
});

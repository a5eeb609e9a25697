import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { afterEach, expect, test, vi } from 'vitest';
import { openMemberHttp } from './member-http.ts';

afterEach(() => void vi.useRealTimers());

const nowMs = Date.now();
const ca = createCa({ commonName: 'member', validForDays: 1, nowMs });

/** A member that gives tokens of a ServiceAccount, and knows the last one it gave, until that account is made anew. */
async function aMember() {
  const { certificatePem: cert, privateKeyPem: key } = issueCertificate({
    ca,
    commonName: 'member',
    organizations: [],
    dnsNames: [],
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    validForMs: 3_600_000,
    nowMs,
  });
  const world = { given: 0, good: '' };
  const server = createServer({ cert, key }, (request, response) => {
    if (request.method === 'POST') {
      world.good = `token-${++world.given}`;
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: { token: world.good } }));
      return;
    }
    response.writeHead(request.headers.authorization === `Bearer ${world.good}` ? 200 : 401).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const http = openMemberHttp(
    {
      server: `https://127.0.0.1:${port}`,
      caPem: ca.certificatePem,
      namespace: 'default',
      clusterName: 'c',
      contextName: 'c',
      userName: 'c',
    },
    { as: 'account', namespace: 'n', name: 'people' },
    '0',
  );
  return {
    world,
    async ask() {
      const request = await http.begin({ method: 'GET', path: '/version', headers: {} });
      request.end();
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      await text(answer);
      return answer.statusCode;
    },
    async [Symbol.asyncDispose]() {
      http.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a token that the member knows no more is not shown for as long as it would have lived', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  await using member = await aMember();
  expect(await member.ask()).toBe(200);
  member.world.good = 'of another account of that name';
  vi.advanceTimersByTime(60_000);
  expect(await member.ask()).toBe(401);
  expect(await member.ask()).toBe(200);
});

test('a member that refuses every token is not asked for one with each request', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  await using member = await aMember();
  vi.advanceTimersByTime(60_000);
  for (let count = 0; count < 5; count++) {
    await member.ask();
    member.world.good = 'none';
    await member.ask();
  }
  expect(member.world.given).toBe(1);
});

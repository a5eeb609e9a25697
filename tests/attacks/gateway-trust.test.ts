import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { FrontProxyWatch } from '../../services/member-gateway/front-proxy.ts';
import { servePeople } from '../../services/member-gateway/serve-people.ts';

/** Connections to the gateway from before it knew, or from when it knew otherwise, by which CA the API server shows itself. */
const nowMs = Date.now();
const ca = (commonName: string) => createCa({ commonName, validForDays: 1, nowMs });
const leaf = (of: ReturnType<typeof ca>, commonName: string, usage: 'server' | 'client') =>
  issueCertificate({
    ca: of,
    commonName,
    dnsNames: [],
    ipAddresses: ['127.0.0.1'],
    usages: [usage],
    validForMs: 3_600_000,
    nowMs,
  });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function aGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-gateway-'));
  const own = leaf(ca('gateway'), 'gateway', 'server');
  const [servingCertFile, servingKeyFile] = [join(folder, 'crt'), join(folder, 'key')];
  writeFileSync(servingCertFile, own.certificatePem);
  writeFileSync(servingKeyFile, own.privateKeyPem);
  const servingPort = await freePort();
  let proxy: ReturnType<FrontProxyWatch['now']>;
  const nothing = { ofPerson: 0, ofPersonToMember: 0, toMember: 0, inAll: 0, saysTooMuch: false };
  const server = await servePeople(
    {
      servingAddress: '127.0.0.1',
      servingPort,
      servingCertFile,
      servingKeyFile,
      streamsPerPerson: 1,
      streamsPerCluster: 1,
      streamsInAll: 1,
    } as Parameters<typeof servePeople>[0],
    {
      frontProxy: () => ({ now: () => proxy, stop: async () => undefined }),
      members: { of: () => undefined, missing: () => undefined, stop: async () => undefined },
      streams: {
        open: () => undefined,
        count: () => nothing,
        endThose: () => undefined,
        isConnected: () => true,
        strayFrames: () => 0,
        stop: () => undefined,
      },
      logger: pino({ level: 'silent' }),
    },
  );
  return {
    /** As the hub's API server says it from now on. */
    believe(caPem: string) {
      // Any name that the CA has signed, as Kubernetes has it where none is given.
      proxy = { caPem, names: [] };
      server.trust(caPem);
    },
    /** Who asks on one connection for as long as it lives. @returns the status, or that the connection is gone */
    client(shown: ReturnType<typeof leaf>) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const identity = { cert: shown.certificatePem, key: shown.privateKeyPem };
      let first: unknown;
      async function ask(): Promise<number | 'gone'> {
        const headers = { 'X-Remote-User': 'somebody' };
        const path = '/apis/proxy.rollcall.dev';
        const where = {
          host: '127.0.0.1',
          port: servingPort,
          path,
          headers,
          agent,
          rejectUnauthorized: false,
        };
        const asked = httpsRequest({ ...where, ...identity }).end();
        const [socket] = await once(asked, 'socket');
        first ??= socket;
        if (socket !== first) {
          asked.on('error', () => undefined).destroy();
          return 'gone';
        }
        const [answer] = (await once(asked, 'response')) as [IncomingMessage];
        answer.resume();
        await once(answer, 'end');
        return answer.statusCode ?? 0;
      }
      return { ask, end: () => agent.destroy() };
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

test('who came before anything is known of the front proxy is not believed afterwards, whatever authority of the world has signed him', async () => {
  const anywhere = ca('an authority that every machine trusts');
  setDefaultCACertificates([anywhere.certificatePem]);
  await using gateway = await aGateway();
  const client = gateway.client(leaf(anywhere, 'stranger', 'client'));
  expect(await client.ask()).toBe(401);
  gateway.believe(ca('front proxy').certificatePem);
  expect(await client.ask().catch(() => 'gone')).not.toBe(200);
  client.end();
});

test('who was let in by a CA that the front proxy has no more is not believed any longer', async () => {
  const former = ca('former front proxy');
  await using gateway = await aGateway();
  gateway.believe(former.certificatePem);
  const client = gateway.client(leaf(former, 'front-proxy', 'client'));
  expect(await client.ask()).toBe(200);
  // The same again, as a watch brings it: nobody has to come anew.
  gateway.believe(former.certificatePem);
  expect(await client.ask()).toBe(200);
  gateway.believe(ca('front proxy').certificatePem);
  expect(await client.ask().catch(() => 'gone')).not.toBe(200);
  client.end();
});

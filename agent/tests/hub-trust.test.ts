import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { RollcallError } from '@rollcall/shared/errors';
import { createCa, createNkey, issueCertificate, spkiPin } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { dialHub } from '../session/hub-connection.ts';
import { createConnector } from '../session/connector.ts';
import { digestOfTrust, findHubCa, firstHubCa, nobodyListened } from '../hub/hub-trust.ts';
import type { AgentState } from '../keys/key-store.ts';
import type { Session } from '../session/session.ts';
import { anAgentState } from './key-store-conformance.ts';
import { freePort, startOpenServer } from './open-server.ts';

const nowMs = Date.now();
const hourMs = 3_600_000;
const ca = createCa({ commonName: 'hub', validForDays: 1, nowMs });
const otherCa = createCa({ commonName: 'hub', validForDays: 1, nowMs });
const ownKey = createNkey('user');

function leaf(
  of: { certificatePem: string; privateKeyPem: string },
  endsAtMs = nowMs + hourMs,
  ipAddresses: readonly string[] = ['127.0.0.1'],
) {
  const issuedAtMs = endsAtMs - hourMs;
  return issueCertificate({
    ca: of,
    commonName: 'hub',
    dnsNames: ['localhost'],
    ipAddresses: [...ipAddresses],
    usages: ['server'],
    validForMs: hourMs,
    nowMs: issuedAtMs,
  });
}

const dial = (address: { host: string; port: number }, caPem: string) =>
  dialHub(
    { role: 'returning' },
    { addresses: [address], caPem, clusterId: 'c', ownKey, tokenKey: undefined },
  );
const pinned = { pins: [spkiPin(ca.certificatePem)] };

test('the right pin finds the CA, and the connection is verified against it', async () => {
  await using server = await startOpenServer(leaf(ca), ca.certificatePem);
  const unused = { host: '127.0.0.1', port: await freePort() };
  const caPem = await findHubCa([unused, server.address], { pins: ['sha256:00', ...pinned.pins] });
  expect(spkiPin(caPem)).toBe(pinned.pins[0]);
  const link = await dial(server.address, caPem);
  expect(link?.isClosed()).toBe(false);
  await link?.close();
});

test('a wrong pin is refused, and the error names the keys that were shown', async () => {
  await using server = await startOpenServer(leaf(otherCa), otherCa.certificatePem);
  await expect(findHubCa([server.address], pinned)).rejects.toMatchObject({
    code: 'HUB_CA_WRONG',
    message: expect.stringContaining(spkiPin(otherCa.certificatePem)),
  });
});

test('a pin of the leaf is not one of a CA', async () => {
  const certificate = leaf(ca);
  await using server = await startOpenServer(certificate, ca.certificatePem);
  await expect(
    findHubCa([server.address], { pins: [spkiPin(certificate.certificatePem)] }),
  ).rejects.toMatchObject({ code: 'HUB_CA_WRONG' });
});

test('an evil leaf with the real CA appended gets past the probe, and not past the connection', async () => {
  await using server = await startOpenServer(leaf(otherCa), ca.certificatePem);
  const found = await findHubCa([server.address], pinned).catch((error: unknown) => error);
  // Whether the probe still sees the appended CA is the TLS library's business; the connection decides.
  expect(typeof found === 'string' ? 'HUB_CA_WRONG' : found).toSatisfy(
    (value) => value === 'HUB_CA_WRONG' || (value as { code: string }).code === 'HUB_CA_WRONG',
  );
  await expect(dial(server.address, ca.certificatePem)).rejects.toMatchObject({ code: 'HUB_CA_WRONG' });
});

test('an expired certificate is refused', async () => {
  await using server = await startOpenServer(leaf(ca, nowMs - 1000), ca.certificatePem);
  const caPem = await findHubCa([server.address], pinned);
  await expect(dial(server.address, caPem)).rejects.toMatchObject({
    code: 'HUB_CERT_EXPIRED',
    message: expect.stringContaining('CERT_HAS_EXPIRED'),
  });
});

test('a hub that does not answer is unreachable, which is another error', async () => {
  const address = { host: '127.0.0.1', port: await freePort() };
  await expect(findHubCa([address], pinned)).rejects.toMatchObject({
    code: 'HUB_UNREACHABLE',
    message: expect.stringContaining('ECONNREFUSED'),
  });
  await expect(dial(address, ca.certificatePem)).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
});

test('nobody listens only where no address has a server, whichever is asked last', async () => {
  const busy = createServer((socket) => socket.on('error', () => undefined).destroy());
  await once(busy.listen(0, '127.0.0.1'), 'listening');
  const there = { host: '127.0.0.1', port: (busy.address() as AddressInfo).port };
  const away = { host: '127.0.0.1', port: await freePort() };
  const isQuiet = async (...addresses: (typeof there)[]) => {
    const how = { addresses, caPem: ca.certificatePem, clusterId: 'c', ownKey, tokenKey: undefined };
    const failure: unknown = await dialHub({ role: 'returning' }, how).catch((error: unknown) => error);
    return nobodyListened(failure as RollcallError);
  };
  expect([await isQuiet(away), await isQuiet(away, there), await isQuiet(there, away)]).toEqual([
    true,
    false,
    false,
  ]);
  busy.close();
});

test('who takes a connection and says nothing is unreachable, and none is left open', async () => {
  const held = new Set<Socket>();
  const mute = createServer((socket) => {
    held.add(socket.on('error', () => undefined).once('close', () => held.delete(socket)));
    socket.resume();
  });
  await once(mute.listen(0, '127.0.0.1'), 'listening');
  const address = { host: '127.0.0.1', port: (mute.address() as AddressInfo).port };
  const failures = await Promise.allSettled([dial(address, ca.certificatePem), findHubCa([address], pinned)]);
  expect(failures).toMatchObject(
    failures.map(() => ({ status: 'rejected', reason: { code: 'HUB_UNREACHABLE' } })),
  );
  await expect.poll(() => held.size).toBe(0);
  mute.close();
});

test('a certificate for another address is refused', async () => {
  await using server = await startOpenServer(leaf(ca, nowMs + hourMs, ['127.0.0.2']), ca.certificatePem);
  const caPem = await findHubCa([server.address], pinned);
  await expect(dial(server.address, caPem)).rejects.toMatchObject({
    code: 'HUB_CERT_NAME',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
});

/** Listens on a free port until the test is over. */
async function listening(server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  return {
    address: { host: '127.0.0.1', port: typeof bound === 'object' && bound !== null ? bound.port : 0 },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

const natsWithoutTls = () =>
  createServer((socket) => void socket.write('INFO {"server_id":"X","version":"2.15.2","nonce":"n"}\r\n'));
const webServer = () =>
  createServer((socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));

test.each([
  { name: 'a NATS server that speaks first, in plain text', server: natsWithoutTls },
  { name: 'a web server', server: webServer },
])('$name is no hub: neither the probe nor the connection takes it for unreachable', async ({ server }) => {
  await using plain = await listening(server());
  await expect(findHubCa([plain.address], pinned)).rejects.toMatchObject({
    code: 'HUB_NOT_TLS',
    // In one line, without the source files of the TLS library.
    message: expect.stringMatching(
      /^the hub at \S+: the server does not speak TLS: [a-z ]+ \(ERR_SSL_\w+\)$/,
    ),
  });
  await expect(dial(plain.address, ca.certificatePem)).rejects.toMatchObject({ code: 'HUB_NOT_TLS' });
});

test('a server that speaks TLS 1.2 and no newer is refused, with a certificate that is right', async () => {
  const { certificatePem: cert, privateKeyPem: key } = leaf(ca);
  const tls12 = createTlsServer({ cert: cert + ca.certificatePem, key, maxVersion: 'TLSv1.2' });
  tls12.on('tlsClientError', () => undefined);
  await using server = await listening(tls12);
  await expect(findHubCa([server.address], pinned)).rejects.toMatchObject({ code: 'HUB_TLS_OLD' });
  await expect(dial(server.address, ca.certificatePem)).rejects.toMatchObject({ code: 'HUB_TLS_OLD' });
});

test('of a first contact the CA is told, and who has another one is refused from then on', async () => {
  let caPem: string;
  {
    await using server = await startOpenServer(leaf(ca), ca.certificatePem);
    const first = await firstHubCa([server.address]);
    expect(first.pin).toBe(pinned.pins[0]);
    ({ caPem } = first);
  }
  await using other = await startOpenServer(leaf(otherCa), otherCa.certificatePem);
  await expect(dial(other.address, caPem)).rejects.toMatchObject({ code: 'HUB_CA_WRONG' });
});

/** Dials a server that shows the CA `ca`, which leaked and was replaced by `otherCa`. */
async function dialed(of: Partial<AgentState>) {
  await using impostor = await startOpenServer(leaf(ca), ca.certificatePem);
  const stateStore = {
    state: anAgentState({ hubCaPem: otherCa.certificatePem, ...of }),
    update(change: (state: AgentState) => AgentState) {
      stateStore.state = change(stateStore.state);
    },
  };
  const trustDigest = digestOfTrust(pinned);
  const keys = { current: () => ownKey };
  const session = { stateStore, keys, clusterId: 'c', token: undefined, trustDigest } as unknown as Session;
  const dialing = createConnector(session, {
    addresses: [impostor.address],
    hubCa: () => findHubCa([impostor.address], pinned),
  });
  const outcome = await dialing.dial({ role: 'returning' }, ownKey).then(
    async (link) => {
      await link?.close();
      return 'connected';
    },
    ({ code }: { code: string }) => code,
  );
  return {
    outcome,
    knownBy: stateStore.state.hubCaPem === otherCa.certificatePem ? 'the new CA' : 'the former CA',
  };
}

test('a CA that the hub has told to be replaced lets nobody in between any more', async () => {
  const hubCaOf = digestOfTrust(pinned);
  expect(await dialed({ hubCaOf, hubCaToldAtMs: 1 })).toEqual({
    outcome: 'HUB_CA_WRONG',
    knownBy: 'the new CA',
  });
});

test.each([
  { what: 'a CA that was only found', of: { hubCaOf: digestOfTrust(pinned) } },
  { what: 'another trust than before', of: { hubCaOf: digestOfTrust({ pins: [] }), hubCaToldAtMs: 1 } },
])('with $what, what a person has given is believed', async ({ of }) => {
  expect(await dialed(of)).toEqual({ outcome: 'connected', knownBy: 'the former CA' });
});

test('a server that does not answer any more is given up when it is asked, and one that does is not', async () => {
  await using server = await startOpenServer(leaf(ca), ca.certificatePem);
  const link = await dial(server.address, ca.certificatePem);
  await link?.check();
  expect(link?.isClosed()).toBe(false);
  server.pause();
  // It may still have answered the first time: the signal takes a moment to stop all of its threads.
  await expect
    .poll(async () => {
      await link?.check();
      return link?.isClosed();
    })
    .toBe(true);
});

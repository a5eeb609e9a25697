import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createCa, createNkey, issueCertificate, spkiPin } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { findBinary } from '../../cli/up/binaries.ts';
import { dialHub } from '../hub-connection.ts';
import { findHubCa } from '../hub-trust.ts';

const nowMs = Date.now();
const hourMs = 3_600_000;
const ca = createCa({ commonName: 'hub', validForDays: 1, nowMs });
const otherCa = createCa({ commonName: 'hub', validForDays: 1, nowMs });
const ownKey = createNkey('user');

function leaf(of: { certificatePem: string; privateKeyPem: string }, endsAtMs = nowMs + hourMs) {
  const issuedAtMs = endsAtMs - hourMs;
  return issueCertificate({
    ca: of,
    commonName: 'hub',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    validForMs: hourMs,
    nowMs: issuedAtMs,
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<number>();
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : 0);
  });
  const port = await promise;
  server.close();
  return port;
}

/** A nats-server that shows this chain, TLS from the first byte. It lets everybody in: who it is, is what is tested. */
async function startServer(chain: { certificatePem: string; privateKeyPem: string }, shownCa: string) {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-tls-'));
  const port = await freePort();
  writeFileSync(join(directory, 'server.pem'), chain.certificatePem + shownCa);
  writeFileSync(join(directory, 'server.key'), chain.privateKeyPem, { mode: 0o600 });
  const config = `listen: "127.0.0.1:${port}"
tls { cert_file: "${directory}/server.pem", key_file: "${directory}/server.key", handshake_first: true }
`;
  writeFileSync(join(directory, 'nats.conf'), config);
  const server: ChildProcess = spawn(findBinary('nats-server'), ['-c', join(directory, 'nats.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise((resolve) => server.once('exit', resolve));
  const ready = Promise.withResolvers<void>();
  if (server.stderr)
    createInterface(server.stderr).on(
      'line',
      (line) => void (line.includes('Server is ready') && ready.resolve()),
    );
  await Promise.race([ready.promise, exited.then(() => Promise.reject(new Error('nats-server ended')))]);
  return {
    address: { host: '127.0.0.1', port },
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL');
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const dial = (address: { host: string; port: number }, caPem: string) =>
  dialHub(
    { role: 'returning' },
    { addresses: [address], caPem, clusterId: 'c', ownKey, tokenKey: undefined },
  );
const pinned = { pins: [spkiPin(ca.certificatePem)] };

test('the right pin finds the CA, and the connection is verified against it', async () => {
  await using server = await startServer(leaf(ca), ca.certificatePem);
  const unused = { host: '127.0.0.1', port: await freePort() };
  const caPem = await findHubCa([unused, server.address], { pins: ['sha256:00', ...pinned.pins] });
  expect(spkiPin(caPem)).toBe(pinned.pins[0]);
  const link = await dial(server.address, caPem);
  expect(link?.isClosed()).toBe(false);
  await link?.close();
});

test('a wrong pin is refused, and the error names the keys that were shown', async () => {
  await using server = await startServer(leaf(otherCa), otherCa.certificatePem);
  await expect(findHubCa([server.address], pinned)).rejects.toMatchObject({
    code: 'HUB_CA_WRONG',
    message: expect.stringContaining(spkiPin(otherCa.certificatePem)),
  });
});

test('a pin of the leaf is not one of a CA', async () => {
  const certificate = leaf(ca);
  await using server = await startServer(certificate, ca.certificatePem);
  await expect(
    findHubCa([server.address], { pins: [spkiPin(certificate.certificatePem)] }),
  ).rejects.toMatchObject({ code: 'HUB_CA_WRONG' });
});

test('an evil leaf with the real CA appended gets past the probe, and not past the connection', async () => {
  await using server = await startServer(leaf(otherCa), ca.certificatePem);
  const found = await findHubCa([server.address], pinned).catch((error: unknown) => error);
  // Whether the probe still sees the appended CA is the TLS library's business; the connection decides.
  expect(typeof found === 'string' ? 'HUB_CA_WRONG' : found).toSatisfy(
    (value) => value === 'HUB_CA_WRONG' || (value as { code: string }).code === 'HUB_CA_WRONG',
  );
  await expect(dial(server.address, ca.certificatePem)).rejects.toMatchObject({ code: 'HUB_CA_WRONG' });
});

test('an expired certificate is refused', async () => {
  await using server = await startServer(leaf(ca, nowMs - 1000), ca.certificatePem);
  const caPem = await findHubCa([server.address], pinned);
  await expect(dial(server.address, caPem)).rejects.toMatchObject({
    code: 'HUB_CA_WRONG',
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

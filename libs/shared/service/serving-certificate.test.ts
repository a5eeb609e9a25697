import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { createLogger } from './log.ts';
import { servingCertificate } from './serving-certificate.ts';

const nowMs = Date.now();
const ca = createCa({ commonName: 'test', validForDays: 1, nowMs });
const issued = (commonName: string) =>
  issueCertificate({
    ca,
    commonName,
    dnsNames: ['server'],
    ipAddresses: [],
    usages: ['server'],
    validForMs: 86_400_000,
    nowMs,
  });

test('a certificate that was renewed is shown, once its key is there too', async () => {
  using ended = new DisposableStack();
  const folder = ended.adopt(mkdtempSync(join(tmpdir(), 'certificate-')), (path) =>
    rmSync(path, { recursive: true }),
  );
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
  const [first, renewed] = [issued('first'), issued('renewed')];
  const tried: string[] = [];
  const options = {
    show: (pair: { cert: string; key: string }) => {
      tried.push(pair.cert);
      server.setSecureContext(pair);
    },
    logger: createLogger({ service: 'test', level: 'fatal' }),
    lookAgainMs: 5,
  };
  expect(() => servingCertificate(files, options)).toThrow('cannot be read');
  writeFileSync(files.certFile, first.certificatePem);
  writeFileSync(files.keyFile, first.privateKeyPem);
  const certificate = ended.use(servingCertificate(files, options));
  const server = createServer({ ...certificate.now() });
  ended.defer(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  async function shownBy(): Promise<unknown> {
    const socket = connect({ port, host: '127.0.0.1', servername: 'server', ca: ca.certificatePem });
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  }
  expect(await shownBy()).toBe('first');
  writeFileSync(files.certFile, renewed.certificatePem);
  await expect.poll(() => tried.length).toBeGreaterThan(0);
  expect([await shownBy(), certificate.now().cert]).toEqual(['first', first.certificatePem]);
  writeFileSync(files.keyFile, renewed.privateKeyPem);
  await expect.poll(shownBy).toBe('renewed');
});

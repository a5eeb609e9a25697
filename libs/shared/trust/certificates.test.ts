import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createCa, issueCertificate, spkiPin } from './certificates.ts';

const hourMs = 3_600_000;
const nowMs = Date.now();
const ca = createCa({ commonName: 'Rollcall test CA', validForDays: 30, nowMs });
const leafOptions = {
  ca,
  commonName: 'Zürich',
  organizations: ['system:masters', 'people'],
  dnsNames: ['hub.example', '*.hub.example'],
  ipAddresses: ['127.0.0.1', '::1', '2001:db8::a:0:12'],
  usages: ['server', 'client'],
  validForMs: hourMs,
  nowMs,
} as const;

describe('certificates', () => {
  const authority = new X509Certificate(ca.certificatePem);
  const leafPair = issueCertificate(leafOptions);
  const leaf = new X509Certificate(leafPair.certificatePem);

  test('the chain builds and verifies', () => {
    expect(authority.ca).toBe(true);
    expect(leaf.ca).toBe(false);
    expect(leaf.checkIssued(authority)).toBe(true);
    expect(leaf.verify(authority.publicKey)).toBe(true);
    expect(leaf.verify(leaf.publicKey)).toBe(false);
  });

  test('the leaf carries names, addresses, user and groups', () => {
    expect(leaf.checkHost('hub.example')).toBe('hub.example');
    expect(leaf.checkHost('nats.hub.example')).toBe('*.hub.example');
    expect(leaf.checkHost('other.example')).toBeUndefined();
    expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(leaf.checkIP('::1')).toBe('::1');
    expect(leaf.checkIP('2001:db8:0:0:0:a:0:12')).toBeDefined();
    expect(leaf.checkIP('127.0.0.2')).toBeUndefined();
    expect(leaf.subject).toBe('O=system:masters\nO=people\nCN=Zürich');
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  });

  test('a leaf never outlives its CA, and serial numbers differ', () => {
    const long = new X509Certificate(issueCertificate({ ...leafOptions, validForMs: 1e12 }).certificatePem);
    expect(long.validToDate).toEqual(authority.validToDate);
    expect(long.serialNumber).not.toBe(leaf.serialNumber);
  });

  test('years from 2050 on are written with four digits', () => {
    const late = createCa({ commonName: 'late', validForDays: 365 * 40, nowMs: Date.UTC(2030, 0, 1) });
    expect(new X509Certificate(late.certificatePem).validToDate.getUTCFullYear()).toBe(2069);
  });

  test('the pin is of the key and not of the certificate', () => {
    expect(spkiPin(ca.certificatePem)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(spkiPin(ca.certificatePem)).not.toBe(spkiPin(leafPair.certificatePem));
  });

  test.each([
    { name: 'an address that is none', change: { ipAddresses: ['1.2.3'] } },
    { name: 'a name with a space', change: { dnsNames: ['a b'] } },
  ])('refuses $name', ({ change }) => {
    expect(() => issueCertificate({ ...leafOptions, ...change })).toThrow(TypeError);
  });

  test('TLS accepts both sides, and another CA is refused', async () => {
    const server = createServer({
      cert: leafPair.certificatePem,
      key: leafPair.privateKeyPem,
      ca: ca.certificatePem,
      requestCert: true,
      rejectUnauthorized: true,
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = issueCertificate({ ...leafOptions, usages: ['client'], dnsNames: [], ipAddresses: [] });
    const identity = { cert: client.certificatePem, key: client.privateKeyPem };
    try {
      const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
      const socket = connect({ port, host: '127.0.0.1', ca: ca.certificatePem, ...identity });
      const [serverSide] = await accepted;
      expect(serverSide.authorized).toBe(true);
      expect(serverSide.getPeerCertificate().subject.CN).toBe('Zürich');
      socket.destroy();

      const otherCa = createCa({ commonName: 'Rollcall test CA', validForDays: 1, nowMs });
      const refused = connect({ port, host: '127.0.0.1', ca: otherCa.certificatePem, ...identity });
      await expect(once(refused, 'secureConnect')).rejects.toThrow(/signature|issuer|self-signed|unable to/);
    } finally {
      server.close();
    }
  });
});

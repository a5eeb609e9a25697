import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepGatewayCertificate } from './gateway-certificate.ts';

const dayMs = 86_400_000;
const certificatesIn = (pem: string) => pem.split(/(?=-----BEGIN)/).map((one) => new X509Certificate(one));

test('it is kept until the last third of its life, and the CA of before is told beside the new one, none older', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-gateway-'));
  const begin = Date.now();
  const first = keepGatewayCertificate(folder, begin);
  expect(keepGatewayCertificate(folder, begin + 400 * dayMs)).toEqual(first);
  const second = keepGatewayCertificate(folder, begin + 600 * dayMs);
  const third = keepGatewayCertificate(folder, begin + 1200 * dayMs);
  const known = [first, second, third].map(({ caPem }) => certificatesIn(caPem));
  expect(known.map(({ length }) => length)).toEqual([1, 2, 2]);
  expect(known[1]?.[1]?.raw).toEqual(known[0]?.[0]?.raw);
  expect(known[2]?.[1]?.raw).toEqual(known[1]?.[0]?.raw);
  for (const { caPem, certificatePem } of [first, second, third]) {
    const [ca] = certificatesIn(caPem);
    const shown = new X509Certificate(certificatePem);
    expect(ca && shown.verify(ca.publicKey)).toBe(true);
    expect(shown.subjectAltName).toBe('DNS:rollcall-member-gateway.rollcall-system.svc');
  }
  rmSync(folder, { recursive: true });
});

import { createCa, createNkey, issueCertificate } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { areCas } from './hub-cas.ts';

const nowMs = Date.now();
const aCa = () => createCa({ commonName: 'CA', validForDays: 1, nowMs });
const ca = aCa();
const leaf = issueCertificate({
  ca,
  commonName: 'leaf',
  dnsNames: ['localhost'],
  ipAddresses: [],
  usages: ['server'],
  validForMs: 1000,
  nowMs,
});

test.each([
  { name: 'one CA', text: ca.certificatePem, want: true },
  { name: 'two', text: ca.certificatePem + aCa().certificatePem, want: true },
  { name: 'nothing', text: '', want: false },
  { name: 'a certificate that is no CA', text: leaf.certificatePem, want: false },
  { name: 'a CA and one that is none', text: ca.certificatePem + leaf.certificatePem, want: false },
  { name: 'a CA and its key', text: ca.certificatePem + ca.privateKeyPem, want: false },
  { name: 'text around it', text: `hello\n${ca.certificatePem}`, want: false },
  { name: 'a torn one', text: ca.certificatePem.replace(/.{20}\n-----END/s, '\n-----END'), want: false },
  { name: 'more than any hub announces', text: ca.certificatePem.repeat(9), want: false },
  { name: 'a key', text: createNkey('account').publicKey, want: false },
])('$name is what a hub may be known by: $want', ({ text, want }) => {
  expect(areCas(text)).toBe(want);
});

import { createCa, issueCertificate } from '@rollcall/shared/trust';

/** A certificate for that name, as a Secret of it has it, and the CA that it is under. */
export function servingSecret(name: string, domain: string) {
  const nowMs = Date.now();
  const ca = createCa({ commonName: 'test', validForDays: 1, nowMs });
  const { certificatePem, privateKeyPem } = issueCertificate({
    ca,
    commonName: domain,
    dnsNames: [domain],
    ipAddresses: [],
    usages: ['server'],
    validForMs: 86_400_000,
    nowMs,
  });
  const stringData = { 'tls.crt': certificatePem, 'tls.key': privateKeyPem };
  const metadata = { name, namespace: 'rollcall-system' };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata, stringData };
  return { ca: ca.certificatePem, secret };
}

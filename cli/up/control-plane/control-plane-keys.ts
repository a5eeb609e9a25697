import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { writePrivate } from '../private-files.ts';

type CertificateWithKey = ReturnType<typeof createCa>;
export interface KeyFiles {
  certPath: string;
  keyPath: string;
}

const caDays = 3650;
/** Certificates are made anew at every start, so this only bounds how long one start may live. */
const leafMs = 365 * 86_400_000;

/** The only client that an API behind the API server believes. */
export const frontProxyName = 'rollcall-front-proxy';

/** The keys of one control plane, in `<folder>`: CAs and the ServiceAccount key stay, everything else is made anew. */
export interface ControlPlaneKeys {
  ca: CertificateWithKey;
  caPath: string;
  /** Apart from the cluster's CA: whoever has a client certificate of the cluster must not get into etcd with it. */
  etcdCaPath: string;
  etcdServer: KeyFiles;
  etcdClient: KeyFiles;
  apiServer: KeyFiles;
  /** By which the API server shows itself to the APIs behind it. Apart from the cluster's CA: a client of that is no API server. */
  frontProxyCaPath: string;
  frontProxy: KeyFiles;
  serviceAccountKeyPath: string;
  serviceAccountPublicKeyPath: string;
  /** A client certificate for a user of the cluster, not kept. */
  userCertificate(name: string, groups: readonly string[]): CertificateWithKey;
}

export function prepareKeys(folder: string): ControlPlaneKeys {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const nowMs = Date.now();
  const loopback = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1', '::1'], validForMs: leafMs, nowMs };
  const ca = keptCa(folder, 'ca', 'rollcall embedded cluster');
  const etcdCa = keptCa(folder, 'etcd-ca', 'rollcall embedded etcd');
  const frontProxyCa = keptCa(folder, 'front-proxy-ca', 'rollcall embedded front proxy');
  const leaf = (name: string, issued: CertificateWithKey): KeyFiles => writePair(folder, name, issued);
  const serviceAccountKeyPath = join(folder, 'service-account.key');
  const serviceAccountPublicKeyPath = join(folder, 'service-account.pub');
  keepServiceAccountKey(serviceAccountKeyPath, serviceAccountPublicKeyPath);
  return {
    ca,
    caPath: join(folder, 'ca.crt'),
    etcdCaPath: join(folder, 'etcd-ca.crt'),
    // Peers are clients and servers of each other, and etcd checks both usages even when it is alone.
    etcdServer: leaf(
      'etcd',
      issueCertificate({ ...loopback, ca: etcdCa, commonName: 'etcd', usages: ['server', 'client'] }),
    ),
    etcdClient: leaf(
      'etcd-client',
      issueCertificate({ ...loopback, ca: etcdCa, commonName: 'kube-apiserver', usages: ['client'] }),
    ),
    apiServer: leaf(
      'apiserver',
      issueCertificate({ ...loopback, ca, commonName: 'kube-apiserver', usages: ['server'] }),
    ),
    frontProxyCaPath: join(folder, 'front-proxy-ca.crt'),
    frontProxy: leaf(
      'front-proxy',
      issueCertificate({ ...loopback, ca: frontProxyCa, commonName: frontProxyName, usages: ['client'] }),
    ),
    serviceAccountKeyPath,
    serviceAccountPublicKeyPath,
    userCertificate: (name, groups) => issueUserCertificate(ca, name, groups),
  };
}

/** By which the API server knows that user, as a member of these groups. */
export function issueUserCertificate(
  ca: CertificateWithKey,
  name: string,
  groups: readonly string[],
): CertificateWithKey {
  return issueCertificate({
    ca,
    commonName: name,
    organizations: groups,
    dnsNames: [],
    ipAddresses: [],
    usages: ['client'],
    validForMs: leafMs,
    nowMs: Date.now(),
  });
}

function keptCa(folder: string, name: string, commonName: string): CertificateWithKey {
  const { certPath, keyPath } = paths(folder, name);
  // The key is written last but one, the certificate last: a half-written pair is made again.
  if (existsSync(certPath) && existsSync(keyPath)) {
    return { certificatePem: readFileSync(certPath, 'utf8'), privateKeyPem: readFileSync(keyPath, 'utf8') };
  }
  const ca = createCa({ commonName, validForDays: caDays, nowMs: Date.now() });
  writePair(folder, name, ca);
  return ca;
}

function keepServiceAccountKey(keyPath: string, publicKeyPath: string): void {
  if (!existsSync(keyPath)) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    // The API server reads the SEC 1 form of EC keys.
    writePrivate(keyPath, privateKey.export({ type: 'sec1', format: 'pem' }).toString());
  }
  const publicKey = createPublicKey(readFileSync(keyPath));
  writePrivate(publicKeyPath, publicKey.export({ type: 'spki', format: 'pem' }).toString());
}

function writePair(folder: string, name: string, pair: CertificateWithKey): KeyFiles {
  const files = paths(folder, name);
  writePrivate(files.keyPath, pair.privateKeyPem);
  writePrivate(files.certPath, pair.certificatePem);
  return files;
}

function paths(folder: string, name: string): KeyFiles {
  return { certPath: join(folder, `${name}.crt`), keyPath: join(folder, `${name}.key`) };
}

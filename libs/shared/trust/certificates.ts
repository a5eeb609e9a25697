import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { der, type DerNode, extension, fromDer, name, oid, toDer, validity } from './x509-der.ts';

/** A certificate and its private key (PKCS#8). The key is a secret: files of it are 0600. */
export interface CertificateWithKey {
  certificatePem: string;
  privateKeyPem: string;
}

const dayMs = 86_400_000;
/** Clocks differ: a certificate that begins now is refused by whoever is a little behind. */
const backdatedMs = 5 * 60_000;

/** Makes a self-signed P-256 CA, which may sign leaf certificates and no further CA. */
export function createCa(options: {
  commonName: string;
  validForDays: number;
  nowMs: number;
}): CertificateWithKey {
  const { publicKey, privateKey } = newKeys();
  const subject = name(options.commonName, []);
  return certificate({
    subject,
    issuer: subject,
    publicKey,
    privateKey,
    signingKey: privateKey,
    beginsAtMs: options.nowMs - backdatedMs,
    endsAtMs: options.nowMs + options.validForDays * dayMs,
    extensions: [
      extension(oid.basicConstraints, der.sequence(der.boolean(true), der.integer('\x00')), {
        critical: true,
      }),
      // keyCertSign and cRLSign: bits 5 and 6.
      extension(oid.keyUsage, der.bitString('\x01\x06'), { critical: true }),
      extension(oid.subjectKeyId, der.octetString(keyId(publicKey))),
    ],
  });
}

export interface LeafOptions {
  ca: CertificateWithKey;
  /** The user name, where the certificate is a Kubernetes client's. */
  commonName: string;
  /** The groups, where the certificate is a Kubernetes client's. */
  organizations?: readonly string[];
  dnsNames: readonly string[];
  ipAddresses: readonly string[];
  usages: readonly ('server' | 'client')[];
  /** From `nowMs` on; cut at the end of the CA. */
  validForMs: number;
  nowMs: number;
}

/**
 * Makes a P-256 key and a certificate for it.
 * @throws TypeError if a DNS name or address cannot be written into a certificate
 */
export function issueCertificate(options: LeafOptions): CertificateWithKey {
  const { publicKey, privateKey } = newKeys();
  const ca = new X509Certificate(options.ca.certificatePem);
  const usages = options.usages.map((usage) => der.oid(usage === 'server' ? oid.serverAuth : oid.clientAuth));
  const names = [...options.dnsNames.map(dnsName), ...options.ipAddresses.map(ipAddress)];
  return certificate({
    subject: name(options.commonName, options.organizations ?? []),
    issuer: subjectOf(ca),
    publicKey,
    privateKey,
    signingKey: createPrivateKey(options.ca.privateKeyPem),
    beginsAtMs: options.nowMs - backdatedMs,
    endsAtMs: Math.min(options.nowMs + options.validForMs, ca.validToDate.getTime()),
    extensions: [
      extension(oid.basicConstraints, der.sequence(), { critical: true }),
      // digitalSignature: bit 0, all that TLS needs of an EC key.
      extension(oid.keyUsage, der.bitString('\x07\x80'), { critical: true }),
      extension(oid.extendedKeyUsage, der.sequence(...usages)),
      extension(oid.subjectKeyId, der.octetString(keyId(publicKey))),
      extension(oid.authorityKeyId, der.sequence(der.context(0, keyId(ca.publicKey)))),
      ...(names.length === 0 ? [] : [extension(oid.subjectAltName, der.sequence(...names))]),
    ],
  });
}

/** What `--ca-cert-hash` compares: `sha256:<hex>` over the public key (SPKI), which a renewed CA may keep. */
export function spkiPin(certificatePem: string): string {
  const { publicKey } = new X509Certificate(certificatePem);
  return `sha256:${createHash('sha256').update(spki(publicKey)).digest('hex')}`;
}

interface ToSign {
  subject: DerNode;
  issuer: DerNode;
  publicKey: KeyObject;
  privateKey: KeyObject;
  signingKey: KeyObject;
  beginsAtMs: number;
  endsAtMs: number;
  extensions: DerNode[];
}

function certificate(options: ToSign): CertificateWithKey {
  const algorithm = der.sequence(der.oid(oid.ecdsaWithSha256));
  const toBeSigned = der.sequence(
    der.explicit(0, der.integer('\x02')),
    serialNumber(),
    algorithm,
    options.issuer,
    validity(options.beginsAtMs, options.endsAtMs),
    options.subject,
    fromDer(spki(options.publicKey)),
    der.explicit(3, der.sequence(...options.extensions)),
  );
  const signature = sign('sha256', toDer(toBeSigned), options.signingKey).toString('latin1');
  const whole = toDer(der.sequence(toBeSigned, algorithm, der.bitString(`\x00${signature}`)));
  return {
    certificatePem: new X509Certificate(whole).toString(),
    privateKeyPem: options.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function spki(publicKey: KeyObject): Buffer {
  return publicKey.export({ type: 'spki', format: 'der' });
}

/** RFC 5280, 4.2.1.2, method 1: SHA-1 of the key's bits. It only helps to find the issuer and proves nothing. */
function keyId(publicKey: KeyObject): string {
  const uncompressedPointBytes = 65;
  const point = spki(publicKey).subarray(-uncompressedPointBytes);
  return createHash('sha1').update(point).digest().toString('latin1');
}

/** RFC 5280, 4.1.2.2: positive and at most 20 bytes; 126 random bits are never guessed or drawn twice. */
function serialNumber(): DerNode {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return der.integer(bytes.toString('latin1'));
}

/** The issuer must be the very bytes of the CA's subject, or the chain does not build. */
function subjectOf(certificateOfCa: X509Certificate): DerNode {
  const toBeSigned = childrenOf(fromDer(certificateOfCa.raw))[0];
  const subject = toBeSigned && childrenOf(toBeSigned)[5];
  if (subject === undefined) throw new TypeError('the CA certificate has no subject');
  return subject;
}

function childrenOf(node: DerNode): DerNode[] {
  return Array.isArray(node.value) ? node.value : [];
}

function dnsName(text: string): DerNode {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new TypeError(`"${text}" is not a DNS name`);
  return der.context(2, text);
}

function ipAddress(text: string): DerNode {
  if (isIPv4(text)) return der.context(7, String.fromCharCode(...text.split('.').map(Number)));
  if (!isIPv6(text) || text.includes('.')) throw new TypeError(`"${text}" is not an IP address`);
  const [head = [], tail = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return der.context(7, String.fromCharCode(...groups.flatMap((group) => [group >> 8, group & 0xff])));
}

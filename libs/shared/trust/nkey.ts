import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { encodeKeyText, publicPrefix } from './encode-key-text.ts';
import { decodeKeyText, decodeSeedText, encodeSeedText } from './key-text.ts';

export type NkeyRole = keyof typeof publicPrefix;
const nkeyRoles = Object.keys(publicPrefix) as NkeyRole[];

/** A key pair of ours. `seed` is secret. */
export interface Nkey {
  readonly publicKey: string;
  readonly seed: string;
  /** Ed25519 over the bytes; base64url, as NATS takes nonce signatures. */
  sign(data: string | Uint8Array): string;
}

// The fixed DER in front of a raw Ed25519 key (RFC 8410).
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');

function rawPublicKey(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
}

/**
 * The key pair of 32 secret bytes; the same bytes give the same keys. By `node:crypto`: the library @nats-io/nkeys does the same with
 * tweetnacl, at 30–170 ms a callout instead of under one (ADR 2). Its encoding is the specification: base32(prefix, 32 bytes, crc16-le),
 * seeds with two prefix bytes.
 */
export function nkeyFromRawSeed(role: NkeyRole, rawSeed: Uint8Array): Nkey {
  const privateKey = createPrivateKey({
    key: Buffer.concat([pkcs8Head, rawSeed]),
    format: 'der',
    type: 'pkcs8',
  });
  const prefix = publicPrefix[role];
  return {
    publicKey: encodeKeyText([prefix], rawPublicKey(privateKey)),
    seed: encodeSeedText(prefix, rawSeed),
    sign: (data) => sign(null, Buffer.from(data), privateKey).toString('base64url'),
  };
}

export function createNkey(role: NkeyRole): Nkey {
  return nkeyFromRawSeed(role, randomBytes(32));
}

/** The public key of an account that is only a place for claims: nobody has a private key to it, so nobody can be its user. */
export function accountOfNobody(name: string): string {
  return encodeKeyText([publicPrefix.account], createHash('sha256').update(name).digest());
}

/** @throws Error when the text is no seed: seeds come from our own files, so that is a damaged state directory. */
export function nkeyFromSeed(seed: string): Nkey {
  const { prefix, rawSeed } = decodeSeedText(seed);
  const role = nkeyRoles.find((name) => publicPrefix[name] === prefix);
  if (!role) throw new Error('not an NKey seed');
  return nkeyFromRawSeed(role, rawSeed);
}

function rawOf(publicKey: string, roles: readonly NkeyRole[]): Buffer | undefined {
  const body = decodeKeyText(publicKey, 1);
  return body && roles.some((role) => body[0] === publicPrefix[role]) ? body.subarray(1) : undefined;
}

/** Whether the text is a well-formed public key of that role; says nothing about who holds it. */
export function isPublicNkey(text: string, role: NkeyRole): boolean {
  return rawOf(text, [role]) !== undefined;
}

/** Whether `signature` (base64url) over `data` was made by the holder of `publicKey`. False for malformed input. */
export function verifyNkeySignature(
  publicKey: string,
  data: string | Uint8Array,
  signature: string,
): boolean {
  const raw = rawOf(publicKey, nkeyRoles);
  if (!raw) return false;
  const key = createPublicKey({ key: Buffer.concat([spkiHead, raw]), format: 'der', type: 'spki' });
  const signatureBytes = Buffer.from(signature, 'base64url');
  return signatureBytes.length === 64 && verify(null, Buffer.from(data), key, signatureBytes);
}

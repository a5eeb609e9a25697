import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign, verify } from 'node:crypto';

/**
 * NATS keys on `node:crypto`. The library @nats-io/nkeys does the same with tweetnacl, at 30–170 ms a callout instead of
 * under one (ADR 0002); its encoding is the specification: base32(prefix, 32 bytes, crc16-le), seeds with two prefix bytes.
 */
const publicPrefix = { operator: 14 << 3, account: 0, user: 20 << 3, server: 13 << 3 } as const;
const seedPrefix = 18 << 3;

export type NkeyRole = keyof typeof publicPrefix;
const nkeyRoles = Object.keys(publicPrefix) as NkeyRole[];

/** A key pair of ours. `seed` is secret. */
export interface Nkey {
  readonly publicKey: string;
  readonly seed: string;
  /** Ed25519 over the bytes; base64url, as NATS takes nonce signatures. */
  sign(data: string | Uint8Array): string;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xff_ff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt((buffer >> bits) & 31);
    }
  }
  return bits > 0 ? text + alphabet.charAt((buffer << (5 - bits)) & 31) : text;
}

function fromBase32(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let buffer = 0;
  let bits = 0;
  let at = 0;
  for (const letter of text) {
    const value = alphabet.indexOf(letter);
    if (value < 0) return undefined;
    buffer = ((buffer << 5) | value) & 0xff_ff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (buffer >> bits) & 0xff;
    }
  }
  return bytes;
}

/** CRC-16/XMODEM, which closes every NATS key. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = ((crc & 0x80_00) === 0 ? crc << 1 : (crc << 1) ^ 0x10_21) & 0xff_ff;
  }
  return crc;
}

function encode(prefix: readonly number[], raw: Uint8Array): string {
  const body = Buffer.concat([Buffer.from(prefix), raw]);
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16LE(crc16(body));
  return base32(Buffer.concat([body, checksum]));
}

function decode(text: string, prefixLength: number): Buffer | undefined {
  const all = fromBase32(text);
  if (all?.length !== prefixLength + 34) return undefined;
  const body = all.subarray(0, -2);
  return all.readUInt16LE(body.length) === crc16(body) && base32(all) === text ? body : undefined;
}

// The fixed DER in front of a raw Ed25519 key (RFC 8410).
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');

function rawPublicKey(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
}

/** The key pair of 32 secret bytes; the same bytes give the same keys. */
export function nkeyFromRawSeed(role: NkeyRole, rawSeed: Uint8Array): Nkey {
  const privateKey = createPrivateKey({
    key: Buffer.concat([pkcs8Head, rawSeed]),
    format: 'der',
    type: 'pkcs8',
  });
  const prefix = publicPrefix[role];
  return {
    publicKey: encode([prefix], rawPublicKey(privateKey)),
    seed: encode([seedPrefix | (prefix >> 5), (prefix & 31) << 3], rawSeed),
    sign: (data) => sign(null, Buffer.from(data), privateKey).toString('base64url'),
  };
}

export function createNkey(role: NkeyRole): Nkey {
  return nkeyFromRawSeed(role, randomBytes(32));
}

/** @throws Error when the text is no seed: seeds come from our own files, so that is a damaged state directory. */
export function nkeyFromSeed(seed: string): Nkey {
  const body = decode(seed.trim(), 2);
  const prefix = body && (((body[0] ?? 0) & 7) << 5) | ((body?.[1] ?? 0) >> 3);
  const role = nkeyRoles.find((name) => publicPrefix[name] === prefix);
  if (!body || !role || ((body[0] ?? 0) & 0xf8) !== seedPrefix) throw new Error('not an NKey seed');
  return nkeyFromRawSeed(role, body.subarray(2));
}

function rawOf(publicKey: string, roles: readonly NkeyRole[]): Buffer | undefined {
  const body = decode(publicKey, 1);
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

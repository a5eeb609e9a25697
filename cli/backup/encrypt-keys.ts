import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { createXkey, type Xkey, xkeyFromSeed } from '@rollcall/shared/trust';
import { damaged, type SealedKeys, type Sealing, type Secrets, secretsSchema } from './backup-format.ts';

/** What opens a backup: what somebody knows, or what somebody has. */
export type Opener =
  | { readonly kind: 'passphrase'; readonly passphrase: string }
  | { readonly kind: 'key'; readonly seed: string }
  /** Nothing is sealed: the keys are still where the hub was. */
  | { readonly kind: 'files'; readonly files: Readonly<Record<string, string>> };
/** What seals one. */
export type Sealer =
  | { readonly kind: 'passphrase'; readonly passphrase: string }
  | { readonly kind: 'key'; readonly recipient: string };

/** 128 MiB and about half a second a guess. */
const scryptCost = 131_072;
const scryptBlockSize = 8;
const tagBytes = 16;

/** What the header says of the sealing, made anew for each backup. */
export function newSealing(by: Sealer): Sealing {
  return by.kind === 'key'
    ? { kind: 'key', recipient: by.recipient }
    : {
        kind: 'passphrase',
        salt: randomBytes(16).toString('base64'),
        cost: scryptCost,
        blockSize: scryptBlockSize,
      };
}

function keyFrom(passphrase: string, { salt, cost, blockSize }: Sealing & { kind: 'passphrase' }): Buffer {
  return scryptSync(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 32, {
    N: cost,
    r: blockSize,
    p: 1,
    maxmem: 256 * cost * blockSize,
  });
}

/** The tag follows the text, as everybody writes it. */
function encrypt(key: Buffer, plain: Uint8Array): SealedKeys {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return { nonce: nonce.toString('base64'), sealed: sealed.toString('base64'), sender: '' };
}

function decrypt(key: Buffer, { nonce, sealed }: SealedKeys): Uint8Array | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64'), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Seals the hub's keys: by a passphrase (scrypt, AES-256-GCM), or to somebody's X25519 key by one that exists for this only. */
export function sealKeys(secrets: Secrets, sealing: Sealing, by: Sealer): SealedKeys {
  const plain = new TextEncoder().encode(JSON.stringify(secrets));
  if (by.kind === 'passphrase' && sealing.kind === 'passphrase')
    return encrypt(keyFrom(by.passphrase, sealing), plain);
  if (sealing.kind !== 'key') throw new TypeError('the header says another sealing');
  const sender = createXkey();
  const sealed = Buffer.from(sender.seal(plain, sealing.recipient)).toString('base64');
  return { nonce: '', sealed, sender: sender.publicKey };
}

/** A person may have named any file. */
function xkeyIn(text: string): Xkey | undefined {
  try {
    return xkeyFromSeed(text);
  } catch {
    return undefined;
  }
}

/** Whoever has the public key can seal anything to it. */
function parsed(plain: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return undefined;
  }
}

function openedBytes(sealed: SealedKeys, sealing: Sealing, by: Opener): Uint8Array | undefined {
  if (sealing.kind === 'passphrase')
    return by.kind === 'passphrase' ? decrypt(keyFrom(by.passphrase, sealing), sealed) : undefined;
  if (by.kind !== 'key' || sealing.kind !== 'key') return undefined;
  const key = xkeyIn(by.seed);
  return key?.publicKey === sealing.recipient
    ? key.open(Buffer.from(sealed.sealed, 'base64'), sealed.sender)
    : undefined;
}

/** @throws RollcallError BACKUP_LOCKED with another passphrase or key, BACKUP_INVALID */
export function openKeys(sealed: SealedKeys, sealing: Sealing, by: Opener): Secrets {
  const plain = openedBytes(sealed, sealing, by);
  if (!plain) {
    const what = sealing.kind === 'key' ? `the key ${sealing.recipient}` : 'a passphrase';
    throw new RollcallError(
      'BACKUP_LOCKED',
      `the backup is sealed with ${what}, and what was given does not open it`,
    );
  }
  const secrets = secretsSchema.safeParse(parsed(plain));
  if (!secrets.success) throw damaged('what was sealed is not what a backup holds');
  return secrets.data;
}

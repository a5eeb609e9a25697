import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { crockford, normalizeCrockford } from './crockford.ts';
import { type Nkey, nkeyFromRawSeed } from './nkey.ts';

/** A registration token: `rc1.<hub id, 16>.<secret, 26>`. The secret never leaves its holder; the hub knows only the public key. */
export interface RegistrationToken {
  readonly hubId: string;
  /** What signs the server's nonce and the request. */
  readonly key: Nkey;
}

/** The hub's id: a hash of the key that signs its answers, so that the first answer can be checked by the token alone. */
export function hubIdOf(answerPublicKey: string): string {
  return crockford(createHash('sha256').update(answerPublicKey).digest().subarray(0, 10), 16);
}

/** Whether it has the form of a hub's id: it stands in names of files and in commands. */
export function isHubId(text: string): boolean {
  return text.length === 16 && normalizeCrockford(text) === text;
}

function keyOf(secret: string): Nkey {
  return nkeyFromRawSeed('user', new Uint8Array(hkdfSync('sha256', secret, 'rollcall', 'join-nkey-v1', 32)));
}

/** 128 random bits in 26 characters. */
export function createTokenSecret(): string {
  return crockford(randomBytes(16), 26);
}

/** Makes a token on the person's own machine. */
export function createRegistrationToken(hubId: string): RegistrationToken & { readonly text: string } {
  const secret = createTokenSecret();
  return { hubId, key: keyOf(secret), text: `rc1.${hubId}.${secret}` };
}

/** @throws RollcallError TOKEN_INVALID, without the token in its message */
export function parseRegistrationToken(text: string): RegistrationToken {
  const [version, hub = '', secret = '', ...rest] = text.trim().split('.');
  const hubId = normalizeCrockford(hub);
  const canonical = normalizeCrockford(secret);
  if (version !== 'rc1' || rest.length > 0 || hubId?.length !== 16 || canonical?.length !== 26) {
    throw new RollcallError(
      'TOKEN_INVALID',
      `the token (${text.trim().length} characters) is not of the form rc1.<16>.<26>`,
    );
  }
  return { hubId, key: keyOf(canonical) };
}

/** Id of no token that there is: what is asked without one is read and counted like all else. */
export const noTokenId = 'none';

/** The id of a token on the bus: its public key in lower case, because ids are [a-z0-9-]. */
export function tokenIdOf(publicKey: string): string {
  return publicKey.toLowerCase();
}

/** What people compare: the first 16 hex digits of a key's SHA-256, in groups of four. */
export function keyFingerprint(publicKey: string): string {
  const hex = createHash('sha256').update(publicKey).digest('hex').slice(0, 16);
  return hex.match(/.{4}/g)?.join('-') ?? hex;
}

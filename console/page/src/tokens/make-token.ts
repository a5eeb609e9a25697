import { crockford } from '@rollcall/shared/trust/crockford';
import { encodeKeyText, publicPrefix } from '@rollcall/shared/trust/encode-key-text';

/** A token as `createRegistrationToken` makes it. Its text is secret and stays on this page; a hub needs the public key alone. */
export interface MadeToken {
  readonly text: string;
  readonly publicKey: string;
}

/** The fixed DER in front of a raw Ed25519 key (RFC 8410). */
const pkcs8Head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const bytesOf = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(new TextEncoder().encode(text));

/** Base64url, as a JSON Web Key has it. */
function bytesOfBase64url(text: string): Uint8Array {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** Makes a token by what the browser has: 128 random bits, and the key that is derived of them. */
export async function makeToken(hubId: string): Promise<MadeToken> {
  const { subtle } = crypto;
  const secret = crockford(crypto.getRandomValues(new Uint8Array(16)), 26);
  const material = await subtle.importKey('raw', bytesOf(secret), 'HKDF', false, ['deriveBits']);
  const derivation = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: bytesOf('rollcall'),
    info: bytesOf('join-nkey-v1'),
  };
  const seed = new Uint8Array(await subtle.deriveBits(derivation, material, 256));
  const pkcs8 = Uint8Array.from([...pkcs8Head, ...seed]);
  const key = await subtle.importKey('pkcs8', pkcs8, 'Ed25519', true, ['sign']);
  const { x = '' } = await subtle.exportKey('jwk', key);
  return {
    text: `rc1.${hubId}.${secret}`,
    publicKey: encodeKeyText([publicPrefix.user], bytesOfBase64url(x)),
  };
}

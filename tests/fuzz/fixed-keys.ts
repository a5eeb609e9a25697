import { createECDH, createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { Nkey } from '@rollcall/shared/trust';
import { nkeyFromRawSeed, type NkeyRole } from '../../libs/shared/trust/nkey.ts';
import { bytesOf } from './fuzzed-decoder.ts';

/*
 * The same keys in every run: an input that was printed by one is a finding in the next one too. (What is signed with ECDSA or
 * sealed has random parts, so there the same seed gives inputs that differ in these.)
 */

const digest = (name: string) => createHash('sha256').update(`fuzz ${name}`).digest();

/** Ed25519, in NATS' spelling. */
export function fixedKey(role: NkeyRole, name: string): Nkey {
  return nkeyFromRawSeed(role, digest(name));
}

/** P-256. */
export function fixedEcKey(name: string): { privateKey: KeyObject; publicKey: KeyObject } {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(digest(name));
  const point = pair.getPublicKey();
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    d: digest(name).toString('base64url'),
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  };
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

const jwtHead = Buffer.from('{"typ":"JWT","alg":"ed25519-nkey"}').toString('base64url');

/** Claims as they are, however little they are claims, with a good signature. */
export function signedJwt(signer: Nkey): (body: Uint8Array) => Uint8Array {
  return (body) => {
    const signed = `${jwtHead}.${Buffer.from(body).toString('base64url')}`;
    return bytesOf(`${signed}.${signer.sign(signed)}`);
  };
}

/** A CA that nobody has the key of any more. */
export const caPem = `-----BEGIN CERTIFICATE-----
MIIBXzCCAQWgAwIBAgIQc/OwSfUlpodUwmp8iHXXwDAKBggqhkjOPQQDAjAOMQww
CgYDVQQDDANodWIwHhcNMjMxMTE0MjIwODIwWhcNMjMxMTE1MjIxMzIwWjAOMQww
CgYDVQQDDANodWIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARVK/Oo3bQXRbdQ
fhxmc8TCUSW5XxayEHsz0SmBrYMEHyo4bpiQc7pspDEIBJ6pL39y00xCFW5w74WZ
SkVBnXy1o0UwQzASBgNVHRMBAf8ECDAGAQH/AgEAMA4GA1UdDwEB/wQEAwIBBjAd
BgNVHQ4EFgQUu9FuC8LS8FT+0Q5zs9O+sXPOiH8wCgYIKoZIzj0EAwIDSAAwRQIh
ANR7pEIgQk8bRkrtOWcI2ubIc6XAU4yXOKRI9iqdO8zBAiAeCgZTqMwzjxRazvPM
qKFexk06FuxvSrJV4CbsNdOZGQ==
-----END CERTIFICATE-----
`;

/** A server's certificate of that CA. */
export const leafPem = `-----BEGIN CERTIFICATE-----
MIIBrTCCAVOgAwIBAgIQUz+OeNo15AcXN/qXXakY9zAKBggqhkjOPQQDAjAOMQww
CgYDVQQDDANodWIwHhcNMjMxMTE0MjIwODIwWhcNMjMxMTE0MjIxMzIxWjAOMQww
CgYDVQQDDANodWIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQNavCBxCV+XbwA
eadb5BSdOze/mgIpiPPD47r3LluOM/Mql1/TYD9ywE0gKdjhG5F1pKbo53ArjFx7
9qYrzqM7o4GSMIGPMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMBMGA1Ud
JQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBReiEA5cmp39taCyRslAzi7ckkFSjAf
BgNVHSMEGDAWgBS70W4LwtLwVP7RDnOz076xc86IfzAaBgNVHREEEzARgglsb2Nh
bGhvc3SHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIhAOQ8ZPbx+/YOQkSxcKaaILK2
6L8nJKiSrGZUlKEKyqk9AiBoUZpJOGRfw/Fqevwt0JWaTO8uF9a4GHXrgeYIJFdE
0Q==
-----END CERTIFICATE-----
`;

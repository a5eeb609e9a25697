import * as nkeys from '@nats-io/nkeys';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeJwt, encodeJwt } from './jwt.ts';
import { createNkey, isPublicNkey, nkeyFromSeed, verifyNkeySignature } from './nkey.ts';
import { isSignedBy, signMessage } from './signed-message.ts';
import { createRegistrationToken, hubIdOf, keyFingerprint, parseRegistrationToken } from './token.ts';

test.each(['operator', 'account', 'user', 'server'] as const)(
  'our %s keys are those of the NATS library',
  (role) => {
    const ours = createNkey(role);
    const theirs = nkeys.fromSeed(new TextEncoder().encode(ours.seed));
    expect(theirs.getPublicKey()).toBe(ours.publicKey);
    expect(Buffer.from(theirs.sign(Buffer.from('nonce'))).toString('base64url')).toBe(ours.sign('nonce'));
    expect(nkeyFromSeed(ours.seed).publicKey).toBe(ours.publicKey);
    expect(verifyNkeySignature(ours.publicKey, 'nonce', ours.sign('nonce'))).toBe(true);
    expect(isPublicNkey(ours.publicKey, role)).toBe(true);
  },
);

test('a signature fits only its key and its data', () => {
  const [a, b] = [createNkey('user'), createNkey('user')];
  const signature = a.sign('x');
  expect(verifyNkeySignature(a.publicKey, 'x', signature)).toBe(true);
  expect(verifyNkeySignature(b.publicKey, 'x', signature)).toBe(false);
  expect(verifyNkeySignature(a.publicKey, 'y', signature)).toBe(false);
  expect(verifyNkeySignature(a.publicKey, 'x', '')).toBe(false);
});

test('a changed key is no key: the checksum sees it', () => {
  const { publicKey } = createNkey('user');
  fc.assert(
    fc.property(
      fc.nat(publicKey.length - 1),
      fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567*>. '),
      (at, letter) => {
        const changed = publicKey.slice(0, at) + letter + publicKey.slice(at + 1);
        expect(isPublicNkey(changed, 'user')).toBe(changed === publicKey);
      },
    ),
  );
  expect(isPublicNkey(publicKey.toLowerCase(), 'user')).toBe(false);
});

test('any text can be verified and decoded without a throw', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => !verifyNkeySignature(a, b, a)));
  fc.assert(fc.property(fc.string(), (text) => decodeJwt(text) === undefined));
});

test('a JWT is read back, and not when it was changed', () => {
  const signer = createNkey('account');
  const jwt = encodeJwt(
    { subject: 'U1', name: 'n', nowMs: 5000, expiresAtMs: 9000, nats: { type: 'user' } },
    signer,
  );
  expect(decodeJwt(jwt)).toMatchObject({
    iss: signer.publicKey,
    sub: 'U1',
    iat: 5,
    exp: 9,
    nats: { version: 2 },
  });
  expect(decodeJwt(`${jwt.slice(0, -4)}AAAA`)).toBeUndefined();
});

test('a token is read back as its holder would type it', () => {
  const token = createRegistrationToken(hubIdOf(createNkey('account').publicKey));
  expect(token.text).toMatch(/^rc1\.[0-9a-z]{16}\.[0-9a-z]{26}$/);
  expect(parseRegistrationToken(` ${token.text.replace('rc1', 'rc1')}\n`).key.publicKey).toBe(
    token.key.publicKey,
  );
  const [head, hub, secret] = token.text.split('.');
  expect(parseRegistrationToken(`${head}.${hub?.toUpperCase()}.${secret?.toUpperCase()}`).key.publicKey).toBe(
    token.key.publicKey,
  );
});

test.each([
  '',
  'rc1',
  'rc1..',
  'rc2.0123456789abcdef.0123456789abcdefghjkmnpqrs',
  'rc1.*.>',
  'rc1.0123456789abcdef.short',
])('the token "%s" is refused without being quoted', (text) => {
  expect(() => parseRegistrationToken(text)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }));
});

test('a signed message shows each of its signers and nobody else', () => {
  const [a, b, c] = [createNkey('user'), createNkey('user'), createNkey('user')];
  const message = signMessage({ hello: 1 }, [a, b]);
  expect(isSignedBy(message, a.publicKey) && isSignedBy(message, b.publicKey)).toBe(true);
  expect(isSignedBy(message, c.publicKey)).toBe(false);
  expect(isSignedBy({ ...message, signed: '{"hello":2}' }, a.publicKey)).toBe(false);
  expect(isSignedBy(message, '__proto__')).toBe(false);
});

test('fingerprints are short and differ', () => {
  expect(keyFingerprint('a')).toMatch(/^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/);
  expect(keyFingerprint('a')).not.toBe(keyFingerprint('b'));
});

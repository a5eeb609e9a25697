import { createCurve, fromCurveSeed } from '@nats-io/nkeys';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createXkey, xkeyFromSeed } from './xkey.ts';

const text = new TextDecoder();
const anyBytes = fc.uint8Array({ maxLength: 2000 });

test('what is sealed here the library of NATS opens, and the other way round', () => {
  const ours = createXkey();
  const theirs = createCurve();
  fc.assert(
    fc.property(anyBytes, (plain) => {
      expect(theirs.open(ours.seal(plain, theirs.getPublicKey()), ours.publicKey)).toEqual(plain);
      expect(ours.open(theirs.seal(plain, ours.publicKey), theirs.getPublicKey())).toEqual(plain);
    }),
    { numRuns: 20 },
  );
});

test('seeds and public keys are those of the library', () => {
  const theirs = createCurve();
  const seed = text.decode(theirs.getSeed());
  expect(xkeyFromSeed(seed)).toMatchObject({ seed, publicKey: theirs.getPublicKey() });
  const ours = createXkey();
  expect(fromCurveSeed(new TextEncoder().encode(ours.seed)).getPublicKey()).toBe(ours.publicKey);
});

test('what was changed, or sealed to or by another, stays shut', () => {
  const [sender, recipient, other] = [createXkey(), createXkey(), createXkey()];
  const sealed = sender.seal(new Uint8Array([1, 2, 3]), recipient.publicKey);
  expect(recipient.open(sealed, sender.publicKey)).toEqual(new Uint8Array([1, 2, 3]));
  expect(recipient.open(sealed, other.publicKey)).toBeUndefined();
  expect(other.open(sealed, sender.publicKey)).toBeUndefined();
  fc.assert(
    fc.property(fc.nat({ max: sealed.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, difference) => {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ difference;
      expect(recipient.open(changed, sender.publicKey)).toBeUndefined();
    }),
  );
});

test('anything else opens to nothing', () => {
  const key = createXkey();
  fc.assert(
    fc.property(anyBytes, fc.string(), (sealed, sender) => {
      expect(key.open(sealed, sender)).toBeUndefined();
      expect(key.open(sealed, key.publicKey)).toBeUndefined();
    }),
  );
});

import { createCurve, fromCurveSeed } from '@nats-io/nkeys';

/** An X25519 key: what is sealed to its public half only its holder can open. */
export interface Xkey {
  readonly publicKey: string;
  readonly seed: string;
  open(sealed: Uint8Array, senderPublicKey: string): Uint8Array | undefined;
  seal(plain: Uint8Array, recipientPublicKey: string): Uint8Array;
}

export function createXkey(): Xkey {
  return xkeyFromSeed(new TextDecoder().decode(createCurve().getSeed()));
}

export function xkeyFromSeed(seed: string): Xkey {
  const pair = fromCurveSeed(new TextEncoder().encode(seed));
  return {
    publicKey: pair.getPublicKey(),
    seed,
    open(sealed, sender) {
      try {
        return pair.open(sealed, sender) ?? undefined;
      } catch {
        return undefined;
      }
    },
    seal: (plain, recipient) => pair.seal(plain, recipient),
  };
}

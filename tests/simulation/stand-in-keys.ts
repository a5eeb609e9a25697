import nodeCrypto from 'node:crypto';
import { StandInHash } from './stand-in-hash.ts';

/** Stands for a key object. Whoever knows the public part could forge: nobody in the simulated world does. */
class StandInKey {
  readonly publicPart: Buffer;
  constructor(publicPart: Buffer) {
    this.publicPart = publicPart;
  }
  export(): Buffer {
    return this.publicPart;
  }
}

const hash = (name: string, ...parts: Uint8Array[]): Buffer => {
  const hashing = new StandInHash(name);
  for (const part of parts) hashing.update(part);
  return hashing.digest() as Buffer;
};

function publicKeyOf(from: StandInKey | { key: Buffer }): StandInKey {
  return from instanceof StandInKey ? from : new StandInKey(Buffer.from(from.key.subarray(-32)));
}

/**
 * Instead of Ed25519 and SHA: a signature holds for one key and one text and for nothing else, at a hundredth of the time.
 * The real ones have their own tests.
 */
export function installStandInKeys(): void {
  Object.assign(nodeCrypto, {
    createHash: (name: string) => new StandInHash(name),
    createPrivateKey: ({ key }: { key: Buffer }) => new StandInKey(hash('sha256', key.subarray(-32))),
    createPublicKey: publicKeyOf,
    sign: (_algorithm: null, data: Buffer, key: StandInKey) => hash('sha512', key.publicPart, data),
    verify: (_algorithm: null, data: Buffer, key: StandInKey, signature: Buffer) =>
      hash('sha512', key.publicPart, data).equals(signature),
  });
}

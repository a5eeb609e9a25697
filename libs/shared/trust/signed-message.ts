import { type Nkey, verifyNkeySignature } from './nkey.ts';

/**
 * A payload that proves who made it, whatever subject or header it came with. The signed text travels as it was signed,
 * because a second serialisation need not give the same bytes.
 */
export interface SignedMessage {
  readonly signed: string;
  /** By public key, base64url. A join carries two: the agent's key and the token's. */
  readonly signatures: Readonly<Record<string, string>>;
}

export function signMessage(content: unknown, signers: readonly Nkey[]): SignedMessage {
  const signed = JSON.stringify(content);
  return { signed, signatures: Object.fromEntries(signers.map((key) => [key.publicKey, key.sign(signed)])) };
}

/** The message with the signatures of these keys alone: what is kept of it must not be as large as its sender likes. */
export function onlySignedBy({ signed, signatures }: SignedMessage, keys: readonly string[]) {
  const wanted = new Set(keys);
  return {
    signed,
    signatures: Object.fromEntries(Object.entries(signatures).filter(([key]) => wanted.has(key))),
  };
}

/** Whether that key signed the message. */
export function isSignedBy(message: SignedMessage, publicKey: string): boolean {
  const signature = Object.hasOwn(message.signatures, publicKey) ? message.signatures[publicKey] : undefined;
  return signature !== undefined && verifyNkeySignature(publicKey, message.signed, signature);
}

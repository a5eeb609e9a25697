import type { StoredEvent } from '@rollcall/shared/events';
import { RollcallError } from '@rollcall/shared/errors';
import { isPublicNkey, keyFingerprint } from '@rollcall/shared/trust';

interface KeySection {
  readonly request?: { readonly key?: unknown };
  readonly key?: unknown;
  readonly approvedKey?: unknown;
  readonly admittedKey?: unknown;
  readonly publicKey?: unknown;
  readonly revokedKeys?: readonly { readonly key?: unknown }[];
}

/**
 * Fingerprints of the keys that an event is about: which asks, is let in, or is put out by it.
 * @param takenBefore - keys of the same thing that earlier events took back; later ones only carry them on. Added to.
 */
export function keysInEvent({ section }: StoredEvent, takenBefore: Set<string>): string[] {
  const {
    request,
    key,
    approvedKey,
    admittedKey,
    publicKey,
    revokedKeys = [],
  } = (section ?? {}) as KeySection;
  const taken = revokedKeys.flatMap(({ key: one }) => (typeof one === 'string' ? [one] : []));
  const isNew = (one: string) => !takenBefore.has(one);
  const all = [request?.key, key, approvedKey, admittedKey, publicKey, ...taken.filter(isNew)];
  for (const one of taken) takenBefore.add(one);
  const keys = all.filter((one) => typeof one === 'string' && one !== '') as string[];
  return [...new Set(keys.map(keyFingerprint))];
}

/**
 * What a person typed for a key: a fingerprint as everything prints it, with or without dashes, or the public key itself.
 * @throws RollcallError USAGE
 */
export function fingerprintOf(text: string): string {
  if (isPublicNkey(text, 'user')) return keyFingerprint(text);
  const hex = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f]{16}$/.test(hex))
    throw new RollcallError('USAGE', `"${text}" is no fingerprint of a key: expected xxxx-xxxx-xxxx-xxxx`);
  return hex.replaceAll(/(.{4})(?=.)/g, '$1-');
}

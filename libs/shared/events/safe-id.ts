import { createHash } from 'node:crypto';

const safeId = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Whether a text may become a subject token or a JWT name. NATS does not sanitise them: a name `*` is a wildcard in a
 * permission (measured).
 */
export function isSafeId(text: string): boolean {
  return safeId.test(text);
}

/** What a person may make up to tell clusters apart; what is longer, no request carries. */
export const maxClientIdLength = 253;

/** The cluster id of a client id: itself where it is safe, else a hash of it (surfaces: "Cluster name and id"). */
export function clusterIdOf(clientId: string): string {
  return isSafeId(clientId) && !clientId.startsWith('h-')
    ? clientId
    : `h-${createHash('sha256').update(clientId).digest('hex').slice(0, 40)}`;
}

/** The aggregate of a token that the hub makes, by its object: its key is not known before it is made (ADR 7). */
export function publicationIdOf(uid: string): string {
  return `publish-${uid}`;
}

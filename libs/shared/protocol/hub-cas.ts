import { sign, verify, X509Certificate } from 'node:crypto';

/**
 * The CA certificates that a hub is to be known by, said by the CA that it is known by now (ADR 5). The registrar passes it on and
 * has no key to make one: whoever steals its identity cannot lead agents to a CA of his own.
 */
export interface HubCas {
  /** JSON of a statement. */
  readonly signed: string;
  /** Base64, by the private key of a CA. */
  readonly signature: string;
}

interface Statement {
  /** What the signature is for: the same key signs certificates. */
  readonly kind: 'rollcall-hub-cas';
  readonly hub: string;
  readonly caPem: string;
  readonly atMs: number;
}

const kind = 'rollcall-hub-cas';
const digest = 'sha256';
const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Two while they roll over; more are no announcement of ours. */
const mostCas = 8;

/** Whether a text is CA certificates (PEM) and nothing else. */
export function areCas(text: string): boolean {
  const blocks = text.match(pemBlock) ?? [];
  if (blocks.length === 0 || blocks.length > mostCas || text.replaceAll(pemBlock, '').trim() !== '')
    return false;
  try {
    return blocks.every((block) => new X509Certificate(block).ca);
  } catch {
    return false;
  }
}

/**
 * @param caKeyPem - private key of the CA
 * @returns the signature, base64
 */
export const signByCa = (text: string, caKeyPem: string): string =>
  sign(digest, Buffer.from(text), caKeyPem).toString('base64');

/**
 * Whether one of these CAs (PEM) signed the text.
 * @throws what Node's crypto does for a certificate that cannot be read
 */
export function isSignedByCa(text: string, signature: string, caPem: string): boolean {
  return (caPem.match(pemBlock) ?? []).some((block) => {
    const { publicKey } = new X509Certificate(block);
    return verify(digest, Buffer.from(text), publicKey, Buffer.from(signature, 'base64'));
  });
}

/** @param caKeyPem - private key of a CA that agents know the hub by when they hear it */
export function signHubCas(said: Omit<Statement, 'kind'>, caKeyPem: string): HubCas {
  const signed = JSON.stringify({ kind, ...said });
  return { signed, signature: signByCa(signed, caKeyPem) };
}

/**
 * @param by.hub - the id of the hub that it must be about
 * @param by.caPem - what the hub is known by now
 * @returns undefined for what none of those CAs has said
 */
export function readHubCas(
  given: unknown,
  by: { readonly hub: string; readonly caPem: string },
): Pick<Statement, 'caPem' | 'atMs'> | undefined {
  const { signed, signature } = (given ?? {}) as Partial<Record<keyof HubCas, unknown>>;
  if (typeof signed !== 'string' || typeof signature !== 'string') return undefined;
  try {
    if (!isSignedByCa(signed, signature, by.caPem)) return undefined;
    const said = JSON.parse(signed) as Partial<Record<keyof Statement, unknown>>;
    const { caPem, atMs } = said;
    const isOurs = said.kind === kind && said.hub === by.hub;
    if (!isOurs || typeof caPem !== 'string' || typeof atMs !== 'number' || !areCas(caPem)) return undefined;
    return { caPem, atMs };
  } catch {
    return undefined;
  }
}

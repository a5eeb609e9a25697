import { randomUUID } from 'node:crypto';
import { type Nkey, verifyNkeySignature } from './nkey.ts';

/** What every NATS JWT claims; times are seconds since the epoch, as the server wants them. */
export interface JwtClaims {
  readonly jti: string;
  readonly iat: number;
  readonly iss: string;
  readonly sub: string;
  readonly name?: string;
  readonly aud?: string;
  readonly exp?: number;
  readonly nats: Readonly<Record<string, unknown>>;
}

interface JwtInput {
  readonly subject: string;
  readonly name?: string;
  readonly audience?: string;
  readonly nowMs: number;
  /** Never set for operators and accounts; users expire. */
  readonly expiresAtMs?: number;
  readonly nats: Readonly<Record<string, unknown>>;
}

const header = Buffer.from(JSON.stringify({ typ: 'JWT', alg: 'ed25519-nkey' })).toString('base64url');

/** Signs claims as NATS JWT version 2. Cost: about 0.1 ms. */
export function encodeJwt(input: JwtInput, signer: Nkey): string {
  const claims: JwtClaims = {
    jti: randomUUID(),
    iat: Math.floor(input.nowMs / 1000),
    iss: signer.publicKey,
    sub: input.subject,
    ...(input.name === undefined ? {} : { name: input.name }),
    ...(input.audience === undefined ? {} : { aud: input.audience }),
    ...(input.expiresAtMs === undefined ? {} : { exp: Math.floor(input.expiresAtMs / 1000) }),
    nats: { ...input.nats, version: 2 },
  };
  const body = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${body}.${signer.sign(body)}`;
}

/**
 * Reads the claims of a JWT and checks its own signature (by the key in `iss`).
 * Whether that issuer may say so is the caller's question.
 * @returns undefined for anything malformed or wrongly signed
 */
export function decodeJwt(token: string): JwtClaims | undefined {
  const [head, body, signature, ...rest] = token.split('.');
  if (!head || !body || !signature || rest.length > 0) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as JwtClaims;
    if (typeof claims !== 'object' || claims === null || typeof claims.iss !== 'string') return undefined;
    return verifyNkeySignature(claims.iss, `${head}.${body}`, signature) ? claims : undefined;
  } catch {
    return undefined;
  }
}

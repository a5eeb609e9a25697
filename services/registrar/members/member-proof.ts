import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { MemberIssuer, MemberKey, MemberProof } from '@rollcall/shared/events';
import type { MemberClaim } from '@rollcall/shared/protocol';

/** Clocks of members are a little off; their tokens live 10 minutes. */
const clockToleranceS = 60;
/** A proof is made for the moment; an API server that makes it longer than this was not asked by our agent. */
const longestLifeS = 3600;
const leastModulusBits = 2048;
/** That of every API server. A larger one makes each check so many times as costly (4 ms with 64 bits, measured), and nothing safer. */
const mostExponent = 65_537n;

/** The algorithms that API servers sign with. Which one a key takes is the key's to say, never the token's. */
const algorithms = [
  { kty: 'RSA', crv: undefined, alg: 'RS256', hash: 'sha256' },
  { kty: 'EC', crv: 'P-256', alg: 'ES256', hash: 'sha256' },
  { kty: 'EC', crv: 'P-384', alg: 'ES384', hash: 'sha384' },
  { kty: 'EC', crv: 'P-521', alg: 'ES512', hash: 'sha512' },
] as const;

const serviceAccount = /^system:serviceaccount:[a-z0-9.-]{1,63}:[a-z0-9.-]{1,128}$/;

interface Claims {
  readonly iss?: unknown;
  readonly sub?: unknown;
  readonly aud?: unknown;
  readonly exp?: unknown;
  readonly iat?: unknown;
  readonly nbf?: unknown;
}

/** Whom the proof must be for, and when. */
export interface ProofContext {
  readonly hubId: string;
  readonly agentKey: string;
  /** Hub time. */
  readonly nowMs: number;
}

type Reading = { readonly issuer: string; readonly subject: string } | { readonly problem: string };

/** Binds a token of the member to one hub and one key: nobody else can use it, for nothing else. */
function audienceOf({ hubId, agentKey }: ProofContext): string {
  return `rollcall:${hubId}:${agentKey}`;
}

function parsePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function publicKeyOf({ kty, n, e, crv, x, y }: MemberKey): KeyObject | undefined {
  try {
    const key = createPublicKey({
      key: kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y },
      format: 'jwk',
    } as Parameters<typeof createPublicKey>[0]);
    const { modulusLength = leastModulusBits, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
    return modulusLength < leastModulusBits || publicExponent > mostExponent ? undefined : key;
  } catch {
    return undefined;
  }
}

function isSigned(parts: readonly [string, string, string], key: MemberKey, alg: unknown): boolean {
  const wanted = algorithms.find(({ kty, crv }) => kty === key.kty && (crv === undefined || crv === key.crv));
  const publicKey = wanted?.alg === alg ? publicKeyOf(key) : undefined;
  if (!wanted || !publicKey) return false;
  const [head, body, signature] = parts;
  return verify(
    wanted.hash,
    Buffer.from(`${head}.${body}`),
    { key: publicKey, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
}

/** What is wrong with the claims of a token that is signed well. */
function claimsProblem({ aud, exp, iat, nbf }: Claims, context: ProofContext): string | undefined {
  const nowS = context.nowMs / 1000;
  const audiences = Array.isArray(aud) ? aud : [aud];
  if (audiences.length !== 1 || audiences[0] !== audienceOf(context))
    return 'it was made for another hub or another key';
  if (typeof exp !== 'number' || typeof iat !== 'number') return 'it has no end';
  if (nowS > exp + clockToleranceS) return 'it has expired';
  if (Math.max(iat, typeof nbf === 'number' ? nbf : iat) > nowS + clockToleranceS)
    return 'it is not valid yet';
  return exp - iat > longestLifeS ? 'it lives too long' : undefined;
}

/** What a token says of its maker and its ServiceAccount, by one of these keys. */
function readProof(token: string, keys: readonly MemberKey[], context: ProofContext): Reading {
  const [head = '', body = '', signature = '', ...rest] = token.split('.');
  const header = parsePart(head);
  const claims = parsePart(body) as Claims | undefined;
  if (!header || !claims || rest.length > 0) return { problem: 'it is no token' };
  const key = keys.find(({ kid }) => kid === header['kid']);
  if (!key || !isSigned([head, body, signature], key, header['alg']))
    return { problem: 'none of the keys signed it' };
  const problem = claimsProblem(claims, context);
  if (problem !== undefined) return { problem };
  const { iss, sub } = claims;
  if (typeof iss !== 'string' || iss === '' || iss.length > 256) return { problem: 'it names no issuer' };
  if (typeof sub !== 'string' || !serviceAccount.test(sub))
    return { problem: 'it is not that of a ServiceAccount' };
  return { issuer: iss, subject: sub };
}

/** The issuer that a claim shows by the keys that came with it: what may be pinned. */
export function shownIssuer(claim: MemberClaim, context: ProofContext): MemberIssuer | undefined {
  const reading = readProof(claim.token, claim.keys, context);
  return 'problem' in reading ? undefined : { ...reading, keys: claim.keys };
}

/**
 * Whether a request comes from the member that the hub knows: its token must be valid by the keys pinned before, whatever
 * keys the request itself shows (ADR 9).
 * @returns undefined where the request shows no proof
 */
export function judgeMemberProof(
  claim: MemberClaim | undefined,
  pin: MemberIssuer | undefined,
  context: ProofContext,
): MemberProof | undefined {
  if (!claim) return undefined;
  const shown = shownIssuer(claim, context);
  const verdict = { sameMember: false, ...(shown ? { shown } : {}) };
  if (!pin) return { ...verdict, problem: 'no issuer is pinned for this cluster' };
  const reading = readProof(claim.token, pin.keys, context);
  if ('problem' in reading) return { ...verdict, problem: reading.problem };
  if (reading.issuer !== pin.issuer) return { ...verdict, problem: 'another issuer made it' };
  if (reading.subject !== pin.subject) return { ...verdict, problem: 'it is that of another ServiceAccount' };
  return { ...verdict, sameMember: true };
}

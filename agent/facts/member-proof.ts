import type { MemberClaim } from '@rollcall/shared/protocol';
import type { MemberApi } from './member-api.ts';

/** The token lives 10 minutes; what is left of it is for the way, and for clocks that are off. */
const keptMs = 300_000;
/** That there was none: an API server that starts gives none for some seconds, and who is not let in asks again every half minute. */
const failureKeptMs = 10_000;
/** The hub takes so many. */
const maxKeys = 8;

interface Jwk {
  readonly kid?: unknown;
  readonly kty?: unknown;
  readonly [field: string]: unknown;
}

const fields = ['kid', 'kty', 'n', 'e', 'crv', 'x', 'y'] as const;

function knownFields(key: Jwk): MemberClaim['keys'][number] {
  const texts = fields.flatMap((field) => (typeof key[field] === 'string' ? [[field, key[field]]] : []));
  return Object.fromEntries(texts) as MemberClaim['keys'][number];
}

/** The public keys that an API server signs its tokens with, as far as the hub can use them. */
export function keysOf(jwks: string): MemberClaim['keys'] {
  try {
    const { keys } = JSON.parse(jwks) as { keys?: readonly Jwk[] };
    return (keys ?? [])
      .filter(({ kid, kty }) => typeof kid === 'string' && (kty === 'RSA' || kty === 'EC'))
      .slice(0, maxKeys)
      .map(knownFields);
  } catch {
    return [];
  }
}

/**
 * Has the member's API server vouch for our key: a token of our ServiceAccount whose audience names hub and key, and the
 * public keys of its issuer (ADR 9). It is no secret: it is good for nothing else.
 * @returns how to have it for a key: made at the first call, and anew for another key, when half of its life is over, or where there was none. Never
 *   rejects.
 */
export function createMemberProof(
  member: Pick<MemberApi, 'issuerKeys' | 'ownToken'>,
  hubId: string,
): (agentKey: string) => Promise<MemberClaim | undefined> {
  async function make(audience: string): Promise<MemberClaim | undefined> {
    const token = await member.ownToken(audience);
    if (token === undefined) return undefined;
    const jwks = await member.issuerKeys();
    const keys = jwks === undefined ? [] : keysOf(jwks);
    return keys.length === 0 ? undefined : { token, keys };
  }

  interface Made {
    readonly audience: string;
    readonly claim: Promise<MemberClaim | undefined>;
    keptUntilMs: number;
  }
  async function forgetFailure(made: Made): Promise<void> {
    if ((await made.claim) === undefined) made.keptUntilMs = performance.now() + failureKeptMs;
  }
  function begin(audience: string): Made {
    const made = { audience, claim: make(audience), keptUntilMs: performance.now() + keptMs };
    void forgetFailure(made);
    return made;
  }

  let latest: Made | undefined;
  return (agentKey) => {
    const audience = `rollcall:${hubId}:${agentKey}`;
    if (latest?.audience !== audience || performance.now() > latest.keptUntilMs) latest = begin(audience);
    return latest.claim;
  };
}

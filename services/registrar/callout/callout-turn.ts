import { BoundedMap } from '../limits/bounded-map.ts';
import type { CalloutTurn } from './callout-queue.ts';
import type { CalloutRequest } from './callout-request.ts';
import type { CalloutClaim } from './callout-verdict.ts';
import type { CredentialIssuer } from '../replies/issue-credentials.ts';
import { readMemberCredentials } from '../members/member-credentials.ts';
import { createRateLimiter } from '../limits/rate-limiter.ts';

/**
 * A site behind one address may have some hundred agents whose tokens ended; more of them wait behind others, and are refused late:
 * who connects as often as it is let knocks less often, and who is let in waits for nothing.
 */
const failuresOfOneAddress = { burst: 200, perSecond: 5 };
const rememberedAddresses = 10_000;
/** Who got in lately is not suspect, from whatever address. */
const rememberedKeys = 20_000;
/** A member that was here within the last days and shows what it had then is most likely one that is alive. */
const liveLatelyMs = 3 * 86_400_000;
/** What it had is no proof yet: who shows it without the key to it loses its turn. */
const failuresOfOneKey = { burst: 5, perSecond: 0.1 };

type Caller = Pick<CalloutRequest, 'claim' | 'host'>;

/** Who is served first of those that ask to be let in, before anything of it is looked up. `nowMs`: of a clock that never jumps. */
export function createCalloutTurns(issuer: CredentialIssuer) {
  const failures = createRateLimiter(failuresOfOneAddress, rememberedAddresses);
  const failuresOfKeys = createRateLimiter(failuresOfOneKey, rememberedKeys);
  const known = new BoundedMap<string, true>(rememberedKeys);

  /** Shows credentials as a member that have ended a short time ago: it comes back, with whatever was its hub's trouble. */
  function isLiveMember({ nkey, user, pass, name }: CalloutClaim, nowMs: number): boolean {
    if (user || !pass || !name || failuresOfKeys.left(nkey, nowMs) < 1) return false;
    const shown = readMemberCredentials(pass, { agentKey: nkey, clusterId: name }, issuer);
    return shown !== undefined && shown.endsAtMs + liveLatelyMs > Date.now();
  }

  return {
    turnOf({ claim, host }: Caller, nowMs: number): CalloutTurn {
      if (isLiveMember(claim, nowMs)) return 'first';
      return known.has(claim.nkey) || failures.left(host, nowMs) >= 1 ? 'next' : 'last';
    },
    /** Whether so many were refused from there that the next one hears it late. */
    isRefusedLate: (host: string, nowMs: number): boolean => failures.left(host, nowMs) < 1,
    wasRefused({ claim, host }: Caller, nowMs: number): void {
      failures.take(host, nowMs);
      if (claim.pass && !claim.user) failuresOfKeys.take(claim.nkey, nowMs);
    },
    wasLetIn({ claim }: Caller): void {
      known.set(claim.nkey, true);
    },
  };
}

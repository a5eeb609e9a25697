import { createRateLimiter } from './rate-limiter.ts';

const daySeconds = 86_400;
/**
 * People find a refusal on the request object, so some are stored: with one token, and in all. A mistake with one token shows in a
 * few of them, the others are counted; and a holder of a token that is over must not fill the history.
 */
export const refusalsStoredOfOneToken = { burst: 10, perSecond: 10 / daySeconds };
export const refusalsStored = { burst: 100, perSecond: 100 / daySeconds };
/** One token may be refused so often, whatever keys show it: some hundred agents that were given a token for fewer, and no flood. */
const refusalsOfOneToken = { burst: 100, perSecond: 2 };
const rememberedTokens = 10_000;

/** What joins may have stored within a day, and how often one token may be refused; counted by each process. */
export interface JoinLimits {
  /** What is left now; the judgement of a join takes it into account before it is taken. */
  left(tokenId: string | undefined, nowMs: number): { bytesLeft: number; refusalsLeft: number };
  takeBytes(bytes: number, nowMs: number): void;
  takeStoredRefusal(tokenId: string | undefined, nowMs: number): void;
  /** @returns false: this token was refused so often that its agents are a flood */
  takeRefusal(tokenKey: string, nowMs: number): boolean;
}

/** @param maxBytesPerDay - how large new requests may be together, of all tokens */
export function createJoinLimits(maxBytesPerDay: number): JoinLimits {
  const refusals = createRateLimiter(refusalsOfOneToken, rememberedTokens);
  const storedOfToken = createRateLimiter(refusalsStoredOfOneToken, rememberedTokens);
  const stored = createRateLimiter(refusalsStored, 1);
  const bytes = createRateLimiter({ burst: maxBytesPerDay, perSecond: maxBytesPerDay / daySeconds }, 1);
  return {
    left: (tokenId = '', nowMs) => ({
      bytesLeft: bytes.left('all', nowMs),
      refusalsLeft: Math.min(storedOfToken.left(tokenId, nowMs), stored.left('all', nowMs)),
    }),
    takeBytes(count, nowMs) {
      // Of two tokens at once both may have fitted.
      bytes.take('all', nowMs, Math.min(count, bytes.left('all', nowMs)));
    },
    takeStoredRefusal(tokenId = '', nowMs) {
      storedOfToken.take(tokenId, nowMs);
      stored.take('all', nowMs);
    },
    takeRefusal: (tokenKey, nowMs) => refusals.take(tokenKey, nowMs),
  };
}

import { createRateLimiter } from './rate-limiter.ts';

const daySeconds = 86_400;
/** Of all members together: a fleet of ours has some hundred a day, and whoever has let thousands in with one token may have no more. */
export const memberChangesPerDay = 1000;

/** What members have stored by themselves: another key that no person wants, another issuer. */
export interface MemberChanges {
  isSpent(what: 'rotation' | 'pin', nowMs: number): boolean;
  note(what: 'rotation' | 'pin', nowMs: number): void;
}

/** A budget for all of them beside that of each: who is let in in great numbers must not fill the history. Of each process. */
export function createMemberChanges(): MemberChanges {
  const rate = { burst: memberChangesPerDay, perSecond: memberChangesPerDay / daySeconds };
  const buckets = createRateLimiter(rate, 2);
  return {
    isSpent: (what, nowMs) => buckets.left(what, nowMs) < 1,
    note: (what, nowMs) => void buckets.take(what, nowMs),
  };
}

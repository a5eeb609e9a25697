import { createRateLimiter } from '../limits/rate-limiter.ts';
import type { CalloutRequest } from './callout-request.ts';
import { type CalloutVerdict, connectionMs } from './callout-verdict.ts';

/**
 * With one key from one address: more than any site has clusters that join at once, and a quarter of a gigabyte of the server's memory
 * while all of them are open (118 KB each, measured).
 */
export const mostAtOnce = 2000;
const remembered = 10_000;

/** By what an agent is let in, and what is kept out when that agent floods. */
export function shownFrom({ claim, host }: Pick<CalloutRequest, 'claim' | 'host'>): string {
  return `${claim.nkey} ${host}`;
}

/**
 * Who is let in stays for two minutes, whatever it does then: so many in that time, and the others are refused until there is room.
 * @returns the verdict, or that there are too many
 */
export function createConnectionLimit(): (
  request: Pick<CalloutRequest, 'claim' | 'host'>,
  verdict: CalloutVerdict,
  nowMs: number,
) => CalloutVerdict {
  const perSecond = mostAtOnce / (connectionMs / 1000);
  const letIn = createRateLimiter({ burst: mostAtOnce, perSecond }, remembered);
  return (request, verdict, nowMs) =>
    verdict.kind === 'refuse' || letIn.take(shownFrom(request), nowMs)
      ? verdict
      : { kind: 'refuse', reason: 'TooManyConnections' };
}

import type { ReplyResult } from '@rollcall/shared/protocol/reply';
import type { AgentRole } from '@rollcall/shared/rights';
import { fullJitterMs, spreadMs } from '../hub/back-off.ts';
import { renewalAtMs } from './renewal-time.ts';

/** What the hub last said, and when the agent asks next. Times are on the agent's clock unless they say hub. */
export interface Joining {
  readonly status: 'new' | 'waiting' | 'refused' | 'admitted' | 'forgotten';
  /** Hub time of the newest reply that counted; older ones are ignored. */
  readonly repliedAtHubMs: number;
  /** Asks since the last reply. */
  readonly unanswered: number;
  readonly requestAtMs: number;
}

export type JoiningInput =
  /** `awayMs`: how long there was no connection before. */
  | { readonly kind: 'connected'; readonly role: AgentRole; readonly awayMs?: number }
  | { readonly kind: 'asked' }
  | ({ readonly kind: 'answered' } & Heard);

export interface Heard {
  readonly atHubMs: number;
  readonly result: ReplyResult;
  /** It answers the last request, and no other one. */
  readonly isToLast?: boolean;
}

export interface JoiningContext {
  readonly nowMs: number;
  /** 0 to 1. */
  readonly random: number;
  /** How long a refusal rests at most, whatever the hub says. */
  readonly refusedRetryMs: number;
  /** Over how long the hub wants its fleet to return. */
  readonly returnWithinMs?: number | undefined;
}

/** A reply takes milliseconds; who gets none asks again soon, and ever more slowly. */
const unansweredBackOff = { firstMs: 2000, longestMs: 60_000 };
const unansweredLeastMs = 1000;
/** No server takes so long to come back, but a hub that was restored has: it may know less of us than before. */
const longBreakMs = 60_000;
/** A whole fleet comes back at one time, and renewing costs the hub a signature. */
const renewedWithinMs = 600_000;
/** Whatever a hub says, the agent asks again within an hour. */
const longestWaitMs = 3_600_000;

export function startJoining(options: { nowMs: number; renewAtMs?: number | undefined }): Joining {
  const { nowMs, renewAtMs } = options;
  return {
    status: renewAtMs === undefined ? 'new' : 'admitted',
    repliedAtHubMs: 0,
    unanswered: 0,
    requestAtMs: renewAtMs ?? nowMs,
  };
}

/**
 * What to ask over a connection of that role. A key that was let in renews; one whose renewal was refused asks to join again,
 * because a revoked cluster may. A restored hub may have forgotten it: then it asks to join, whatever it has.
 */
export function verbFor(joining: Joining, role: AgentRole): 'join' | 'renew' {
  if (joining.status === 'forgotten') return 'join';
  if (role === 'member') return 'renew';
  return role === 'returning' && joining.status === 'admitted' ? 'renew' : 'join';
}

/** Whatever else a hub may say one day is none either: the agent may be older. */
const statuses: ReadonlySet<string> = new Set<ReplyResult['kind']>([
  'waiting',
  'refused',
  'admitted',
  'leave',
]);

/**
 * Whether the reply is older than one that already counted, or no statement about the cluster's status. What answers a request
 * that was sent after the newest reply is newer than that, whatever it says of the time: a clock of the hub has been set back, and
 * who had heard it wrong would not hear until it has caught up (found by chaos, seed 10016).
 */
export function isStale(joining: Joining, { result, atHubMs, isToLast = false }: Heard): boolean {
  const isAskedSince = isToLast && joining.unanswered > 0;
  return !statuses.has(result.kind) || (atHubMs < joining.repliedAtHubMs && !isAskedSince);
}

/** Takes the state one step on. There is no last state: the agent asks for as long as it runs. */
export function nextJoining(joining: Joining, input: JoiningInput, context: JoiningContext): Joining {
  switch (input.kind) {
    case 'connected':
      return connected(joining, input, context);
    case 'asked': {
      const unanswered = joining.unanswered + 1;
      const delayMs = Math.max(
        unansweredLeastMs,
        fullJitterMs(unansweredBackOff, unanswered, context.random),
      );
      return { ...joining, unanswered, requestAtMs: context.nowMs + delayMs };
    }
    case 'answered':
      return isStale(joining, input) ? joining : answered(joining, input, context);
  }
}

function connected(
  joining: Joining,
  { role, awayMs = 0 }: JoiningInput & { kind: 'connected' },
  { nowMs, random, refusedRetryMs, returnWithinMs = 0 }: JoiningContext,
): Joining {
  if (role === 'member' && joining.status === 'admitted' && awayMs > longBreakMs) {
    // Whose time came meanwhile has less of it left.
    const isOverdue = joining.requestAtMs <= nowMs;
    const soonMs = nowMs + random * (isOverdue ? returnWithinMs : Math.max(renewedWithinMs, returnWithinMs));
    return { ...joining, requestAtMs: isOverdue ? soonMs : Math.min(joining.requestAtMs, soonMs) };
  }
  // A member has what it needs until it is time to renew.
  if (role === 'member') return joining;
  // A refusal rests as long as it was told to, but no longer because our clock was set back meanwhile.
  if (joining.status === 'refused')
    return { ...joining, requestAtMs: Math.min(joining.requestAtMs, nowMs + refusedRetryMs) };
  return { ...joining, unanswered: 0, requestAtMs: nowMs };
}

function answered(
  joining: Joining,
  { atHubMs, result }: JoiningInput & { kind: 'answered' },
  { nowMs, random, refusedRetryMs }: JoiningContext,
): Joining {
  const heard = { repliedAtHubMs: atHubMs, unanswered: 0 };
  const inTime = (delayMs: number, leastMs: number) =>
    nowMs + Math.min(longestWaitMs, Math.max(leastMs, Number.isFinite(delayMs) ? delayMs : 0));
  switch (result.kind) {
    case 'waiting':
      return {
        ...heard,
        status: 'waiting',
        requestAtMs: inTime(spreadMs(result.retryAfterMs, 0.1, random), unansweredLeastMs),
      };
    case 'refused': {
      // Asked as if for the first time, and so at once; but only once for each time that the hub says so.
      if (result.code === 'CLUSTER_FORGOTTEN' && joining.status !== 'forgotten')
        return { ...heard, status: 'forgotten', requestAtMs: nowMs };
      // The hub names minutes for what only people can change, and seconds for its own trouble.
      const restMs = result.retryAfterMs > 0 ? Math.min(result.retryAfterMs, refusedRetryMs) : refusedRetryMs;
      return {
        ...heard,
        status: 'refused',
        requestAtMs: inTime(spreadMs(restMs, 0.2, random), unansweredLeastMs),
      };
    }
    case 'admitted': {
      const { renewAfterMs, expiresAtMs } = result;
      return {
        ...heard,
        status: 'admitted',
        requestAtMs: renewalAtMs({ nowMs, repliedAtMs: atHubMs, renewAfterMs, expiresAtMs, random }),
      };
    }
    case 'leave':
    case 'access':
    case 'rotated':
    case 'done':
      return joining;
  }
}

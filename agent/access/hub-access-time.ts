import { type BackOff, fullJitterMs, spreadMs } from '../hub/back-off.ts';

/** What the hub last said about access to its API server, and when the agent asks for it next. Times are on the agent's clock. */
export interface HubAccessPlan {
  /** `unknown`: nothing yet, or an older hub, which says nothing. */
  readonly access: 'unknown' | 'None' | 'Namespace';
  /** Hub time of the newest statement; older ones are ignored. */
  readonly heardAtHubMs: number;
  /** Asks in a row that brought nothing. */
  readonly failures: number;
  /** Undefined while there is nothing to ask for. */
  readonly requestAtMs: number | undefined;
}

export type HubAccessInput =
  /** `isFresh`: with it may have come a new key or a new approval, which end what there was. */
  | { kind: 'told'; access: 'None' | 'Namespace'; atHubMs: number; isFresh: boolean }
  /** A member connection is there again; what was decided meanwhile nobody has told. */
  | { kind: 'returned'; returnWithinMs: number }
  | { kind: 'asked' }
  | { kind: 'given'; atHubMs: number; expiresAtHubMs: number }
  | { kind: 'refused'; retryAfterMs: number };

export interface HubAccessContext {
  readonly nowMs: number;
  /** 0 to 1. */
  readonly random: number;
  /** However long a token lives, another is asked for by then. */
  readonly longestMs: number;
}

/** When a server restarts, its whole fleet comes back: those questions must not come together. A hub of many gives them longer. */
const askAfterReturnWithinMs = 30_000;
/** Who was just let in has no namespace yet; it takes the hub tens of milliseconds. */
const firstRequestMs = 1000;
const backOff: BackOff = { firstMs: 4000, longestMs: 300_000 };
const leastMs = 1000;
/** As member credentials: a fleet does not renew together, and a hub that is away for a fifth of the life is not noticed. */
const renewal = { from: 0.6, to: 0.8 };

export const noHubAccess: HubAccessPlan = {
  access: 'unknown',
  heardAtHubMs: 0,
  failures: 0,
  requestAtMs: undefined,
};

/** How long after it was given the next token is asked for. A hub that says nonsense is asked again soon, not never. */
function renewAfterMs(lifeMs: number, { random, longestMs }: HubAccessContext): number {
  const share = renewal.from + (renewal.to - renewal.from) * random;
  const afterMs = Number.isFinite(lifeMs) ? lifeMs * share : 0;
  return Math.max(leastMs, Math.round(Math.min(afterMs, longestMs)));
}

/** No token lives longer: what seems to be due later shows that our clock was set back. */
function inTime(requestAtMs: number | undefined, { nowMs, longestMs }: HubAccessContext): number | undefined {
  return requestAtMs === undefined ? undefined : Math.min(requestAtMs, nowMs + longestMs);
}

/** Takes the plan one step on. */
export function nextHubAccess(
  plan: HubAccessPlan,
  input: HubAccessInput,
  context: HubAccessContext,
): HubAccessPlan {
  const { nowMs, random } = context;
  switch (input.kind) {
    case 'told': {
      if (input.atHubMs < plan.heardAtHubMs) return plan;
      const heard = { access: input.access, heardAtHubMs: input.atHubMs };
      if (input.access === 'None') return { ...heard, failures: 0, requestAtMs: undefined };
      if (plan.access === 'Namespace' && !input.isFresh)
        return { ...plan, ...heard, requestAtMs: inTime(plan.requestAtMs, context) };
      return { ...heard, failures: 0, requestAtMs: nowMs + spreadMs(firstRequestMs, 0.5, random) };
    }
    case 'returned': {
      const withinMs = Math.max(askAfterReturnWithinMs, input.returnWithinMs);
      const requestAtMs = nowMs + Math.round(withinMs * random);
      // Who has access asks within the hour anyway, and each such question costs the API server a token. Whose time came meanwhile
      // takes its turn.
      if (plan.access === 'Namespace') {
        const isOverdue = plan.requestAtMs !== undefined && plan.requestAtMs <= nowMs;
        return { ...plan, requestAtMs: isOverdue ? requestAtMs : inTime(plan.requestAtMs, context) };
      }
      return { ...plan, failures: 0, requestAtMs: Math.min(plan.requestAtMs ?? requestAtMs, requestAtMs) };
    }
    case 'asked': {
      const failures = plan.failures + 1;
      return {
        ...plan,
        failures,
        requestAtMs: nowMs + Math.max(leastMs, fullJitterMs(backOff, failures, random)),
      };
    }
    case 'given': {
      const lifeMs = input.expiresAtHubMs - input.atHubMs;
      return { ...plan, failures: 0, requestAtMs: nowMs + renewAfterMs(lifeMs, context) };
    }
    case 'refused': {
      if (plan.requestAtMs === undefined) return plan;
      const saidMs = Number.isFinite(input.retryAfterMs)
        ? Math.min(input.retryAfterMs, backOff.longestMs)
        : 0;
      const restMs = Math.max(spreadMs(saidMs, 0.2, random), fullJitterMs(backOff, plan.failures, random));
      return { ...plan, requestAtMs: nowMs + Math.max(leastMs, restMs) };
    }
  }
}

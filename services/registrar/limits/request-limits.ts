import { createFloodFinder } from './find-request-flood.ts';
import type { FloodGuard } from './cut-request-floods.ts';
import { createRateLimiter } from './rate-limiter.ts';

/** What is done with a request: `busy` is answered so without being read, `ignore` is only counted. */
export type RequestPlace = 'work' | 'busy' | 'ignore';

/** Said with `HUB_BUSY`. */
export const busyMessage = 'too many requests are being answered';

/** What one process works on at a time; beyond it agents are told to come again. */
const maxOpen = 2000;
/** So many that new clusters leave room for those that are here: to renew, to tell facts, to leave. */
const maxOpenForJoins = 1500;
/**
 * Beside these so many to leave: they wait for their turn while others join, and take nobody else's place. Who is told to come again, or
 * nothing, has lost nothing.
 */
const maxOpenForLeaving = 500;
/** One that asks for it, and one that says that it is done. */
const maxLeavingOfOneAgent = 2;
/** Of these at most so many by one agent: it asks one thing at a time, and a flood of its own must not starve the others. */
const maxOpenOfOneAgent = 8;
/** Of these at most so many with one token, whatever number of agents it let in. */
const maxOpenOfOneToken = 1000;
/** An agent asks a few times when it starts, and then twice a minute. */
const requestsOfOneAgent = { burst: 40, perSecond: 2 };
/** Being told so costs a signature: who does not listen is not told again. */
const busyRepliesToOneAgent = { burst: 5, perSecond: 0.2 };
const busyReplies = { burst: 200, perSecond: 100 };
const rememberedAgents = 20_000;

function lower(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 1) - 1;
  if (left > 0) counts.set(key, left);
  else counts.delete(key);
}

/** Bounds what agents can have the registrar do, by one agent, by one token, and in total; who goes on beyond it floods. */
export function createRequestBudget(floods: Pick<FloodGuard, 'found' | 'isUnheard'>) {
  const finder = createFloodFinder(rememberedAgents);
  const rate = createRateLimiter(requestsOfOneAgent, rememberedAgents);
  const answersOfOne = createRateLimiter(busyRepliesToOneAgent, rememberedAgents);
  const answers = createRateLimiter(busyReplies, 1);
  const openOf = new Map<string, number>();
  const openWithToken = new Map<string, number>();
  const openLeavingOf = new Map<string, number>();
  let open = 0;
  let openLeaving = 0;

  function noteExcess(agentKey: string, nowMs: number): void {
    const flood = finder.count(agentKey, nowMs);
    if (flood) floods.found(agentKey, flood);
  }

  function refuse(agentKey: string, nowMs: number): RequestPlace {
    noteExcess(agentKey, nowMs);
    return answersOfOne.take(agentKey, nowMs) && answers.take('all', nowMs) ? 'busy' : 'ignore';
  }

  function enterToLeave(agentKey: string, nowMs: number): RequestPlace {
    const openOfAgent = openLeavingOf.get(agentKey) ?? 0;
    const isAllowed = rate.take(agentKey, nowMs);
    // It asks again while it waits for its turn, and will be answered.
    if (isAllowed && openOfAgent >= maxLeavingOfOneAgent) return 'ignore';
    if (!isAllowed || openLeaving >= maxOpenForLeaving) return refuse(agentKey, nowMs);
    openLeaving++;
    openLeavingOf.set(agentKey, openOfAgent + 1);
    return 'work';
  }

  return {
    /** `work`: `leave` is called when it is answered. */
    enter({ agentKey, verb }: { agentKey: string; verb: string }, nowMs: number): RequestPlace {
      if (finder.isMuted(agentKey, nowMs) || floods.isUnheard(agentKey)) {
        noteExcess(agentKey, nowMs);
        return 'ignore';
      }
      if (verb === 'leave') return enterToLeave(agentKey, nowMs);
      const openOfAgent = openOf.get(agentKey) ?? 0;
      const isFull =
        open >= (verb === 'join' ? maxOpenForJoins : maxOpen) || openOfAgent >= maxOpenOfOneAgent;
      if (isFull || !rate.take(agentKey, nowMs)) return refuse(agentKey, nowMs);
      open++;
      openOf.set(agentKey, openOfAgent + 1);
      return 'work';
    },
    leave({ agentKey, verb }: { agentKey: string; verb: string }): void {
      if (verb === 'leave') {
        openLeaving--;
        return lower(openLeavingOf, agentKey);
      }
      open--;
      lower(openOf, agentKey);
    },
    /** @returns false: so many requests with this token are being answered that this one must come again */
    enterWithToken(tokenKey: string): boolean {
      const count = openWithToken.get(tokenKey) ?? 0;
      if (count >= maxOpenOfOneToken) return false;
      openWithToken.set(tokenKey, count + 1);
      return true;
    },
    leaveWithToken: (tokenKey: string): void => lower(openWithToken, tokenKey),
  };
}

export type RequestBudget = ReturnType<typeof createRequestBudget>;

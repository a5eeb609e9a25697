import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { isSafeId } from '@rollcall/shared/events';
import {
  decodeFloodCut,
  decodeFloodHeard,
  type FloodCut,
  floodCutPrefix,
  type FloodHeard,
  floodHeardPrefix,
} from '@rollcall/shared/protocol';
import type { Logger, Metrics } from '@rollcall/shared/service';
import type { Flood } from './find-request-flood.ts';
import { writeFlooded } from './request-flood-event.ts';
import { BoundedMap } from './bounded-map.ts';
import { createTemporaryBlocklist } from './temporary-blocklist.ts';
import { createRateLimiter } from './rate-limiter.ts';

const remembered = 20_000;
/** The history must not grow with an attack. */
const writtenPerMinute = { burst: 30, perSecond: 0.5 };
const loggedPerMinute = { burst: 10, perSecond: 0.2 };

/** Its token was refused too often. It is cut like a flooder, and says nothing about the agent: one ask is enough to be the last straw. */
export const onlyRefused: Flood = { requests: 0, seconds: 0 };

const nowMs = () => performance.now();
const keyOf = (subject: string, prefix: string) => subject.slice(prefix.length);

export interface FloodGuard {
  /** The callout let that agent in; `from` is the token and the address. Whoever shows the same is kept out when it floods. */
  letIn(agentKey: string, from: string): void;
  isBlocked(names: readonly string[]): boolean;
  /** Whether what that agent asks is not even looked at, because it floods or what let it in does. */
  isUnheard(agentKey: string): boolean;
  /** Has the connections of that key ended, and keeps out what let it in, at all replicas. */
  found(agentKey: string, flood: Flood): void;
  drain(): Promise<void>;
}

/**
 * What becomes of an agent that floods: the account-controller ends its connections, no registrar lets it in for a while, and where it is
 * the agent of a cluster one event says so, upon which the approver decides (ADR 13).
 */
export function createFloodGuard(
  nc: NatsConnection,
  { log, logger, metrics }: { log: Pick<EventLog, 'read' | 'append'>; logger: Logger; metrics: Metrics },
): FloodGuard {
  const blocklist = createTemporaryBlocklist(remembered);
  const cameFrom = new BoundedMap<string, string>(remembered);
  const writes = createRateLimiter(writtenPerMinute, 1);
  const lines = createRateLimiter(loggedPerMinute, 1);
  const writing = new Set<Promise<void>>();

  function tell(agentKey: string, flood: FloodHeard): void {
    if (!nc.isClosed()) nc.publish(`${floodHeardPrefix}${agentKey}`, JSON.stringify(flood));
  }

  function block(agentKey: string, from: string | undefined): void {
    for (const name of [agentKey, from]) if (name !== undefined) blocklist.put(name, nowMs());
  }

  function heard(agentKey: string, { from, ...flood }: FloodHeard): void {
    const knownFrom = cameFrom.get(agentKey);
    if (from === undefined && knownFrom !== undefined) tell(agentKey, { ...flood, from: knownFrom });
    block(agentKey, from ?? knownFrom);
  }

  async function write(agentKey: string, { clusters, ...flood }: FloodCut): Promise<void> {
    try {
      for (const clusterId of new Set(clusters)) {
        if (!isSafeId(clusterId) || !writes.take('all', nowMs())) continue;
        await writeFlooded(log, { ...flood, clusterId, agentKey, nowMs: Date.now() });
      }
    } catch (thrown) {
      // A flood that goes on is heard and cut again.
      logger.warn({ err: toRollcallError(thrown) }, 'a flood could not be written');
    }
  }

  function wasCut(agentKey: string, flood: FloodCut): void {
    const work = write(agentKey, flood).finally(() => writing.delete(work));
    writing.add(work);
  }

  const subscriptions = [
    nc.subscribe(`${floodHeardPrefix}*`, {
      callback: (error, message) => {
        const flood = error ? undefined : decodeFloodHeard(message.string());
        if (flood) heard(keyOf(message.subject, floodHeardPrefix), flood);
      },
    }),
    nc.subscribe(`${floodCutPrefix}*`, {
      queue: 'registrar',
      callback: (error, message) => {
        const flood = error ? undefined : decodeFloodCut(message.string());
        if (flood && flood.requests > 0) wasCut(keyOf(message.subject, floodCutPrefix), flood);
      },
    }),
  ];

  return {
    letIn(agentKey, from) {
      cameFrom.delete(agentKey);
      cameFrom.set(agentKey, from);
    },
    isBlocked: (names) => names.some((name) => blocklist.has(name, nowMs())),
    isUnheard(agentKey) {
      const from = cameFrom.get(agentKey);
      return blocklist.has(agentKey, nowMs()) || (from !== undefined && blocklist.has(from, nowMs()));
    },
    found(agentKey, flood) {
      metrics.count('rollcall_floods_total');
      if (lines.take('all', nowMs()))
        logger.warn(
          { key: agentKey, count: flood.requests },
          'an agent floods the hub, or its token does; it is cut',
        );
      // Before it is cut: it comes back at once, and our own word to us may wait behind all that it has sent.
      block(agentKey, cameFrom.get(agentKey));
      tell(agentKey, flood);
    },
    async drain() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      await Promise.allSettled(writing);
    },
  };
}

import type { NatsConnection } from '@nats-io/transport-node';
import { toRollcallError } from '@rollcall/shared/errors';
import {
  decodeFloodHeard,
  type FloodCut,
  floodCutPrefix,
  type FloodHeard,
  floodHeardPrefix,
} from '@rollcall/shared/protocol';
import type { Logger } from '@rollcall/shared/service';
import { isPublicNkey } from '@rollcall/shared/trust';
import type { SystemAccount } from './system-account.ts';

/** Each requests every server for its connections; a flood that goes on is told again. */
const atOnce = 16;

/** In one message; a key has two connections for a moment, and the copies of a cloned member. */
const mostNames = 16;

/**
 * Ends the connections of agents that flood, as soon as a registrar hears it. Whether they may come back is not decided here: the
 * registrars keep out who needs the callout, and the approver who has credentials.
 * @param options.account - public key of the account AGENTS
 */
export function cutFlooders(
  nc: NatsConnection,
  options: {
    system: Pick<SystemAccount, 'endConnectionsOf'>;
    account: string;
    logger: Logger;
    onKick(): void;
  },
): { drain(): Promise<void> } {
  const { system, account, logger, onKick } = options;
  const open = new Map<string, Promise<void>>();

  async function cut(key: string, { requests, seconds }: FloodHeard): Promise<void> {
    try {
      const names = await system.endConnectionsOf(account, key);
      if (names.length === 0) return;
      onKick();
      const told: FloodCut = { requests, seconds, clusters: [...new Set(names)].slice(0, mostNames) };
      if (!nc.isClosed()) nc.publish(`${floodCutPrefix}${key}`, JSON.stringify(told));
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown), key }, 'connections of a flooder could not be ended');
    }
  }

  function take(key: string, flood: FloodHeard): void {
    if (!isPublicNkey(key, 'user') || open.has(key) || open.size >= atOnce) return;
    const work = cut(key, flood).finally(() => open.delete(key));
    open.set(key, work);
  }

  const subscription = nc.subscribe(`${floodHeardPrefix}*`, {
    queue: 'account-controller',
    callback: (error, message) => {
      const flood = error ? undefined : decodeFloodHeard(message.string());
      if (flood) take(message.subject.slice(floodHeardPrefix.length), flood);
    },
  });
  return {
    async drain() {
      subscription.unsubscribe();
      await Promise.allSettled(open.values());
    },
  };
}

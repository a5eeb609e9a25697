import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger, Metrics } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import { followOwnLosses } from './own-losses.ts';

const readAgainMs = 1000;

export interface OwnConnections {
  /** Which of them is away, or undefined. What was missed is read before one counts as back. */
  away(): string | undefined;
}

/**
 * Follows the service's own two connections: what was missed while one was away is made up for.
 * @param connections.main - of events and notices
 * @param connections.hearing - of heartbeats
 * @param options.readAll - reads all members again
 */
export function followOwnConnections(
  connections: { main: NatsConnection; hearing: NatsConnection },
  options: {
    engine: Pick<LivenessEngine, 'awaitReturn' | 'forgetConnections'>;
    clock: HubClock;
    logger: Logger;
    metrics: Metrics;
    readAll(): Promise<void>;
  },
): OwnConnections {
  const { main, hearing } = connections;
  const { engine, clock, logger } = options;
  let isConnected = true;
  let isHearing = true;

  /** @returns whether it was done before the bus went for good */
  async function readAllAgain(): Promise<boolean> {
    for (;;) {
      try {
        await options.readAll();
        return true;
      } catch (thrown) {
        if (main.isClosed()) return false;
        logger.warn({ err: toRollcallError(thrown) }, 'clusters could not be read after a reconnect');
        await delay(readAgainMs);
      }
    }
  }
  async function followHearing(): Promise<void> {
    for await (const { type } of hearing.status()) {
      if (type === 'disconnect') isHearing = false;
      if (type !== 'reconnect') continue;
      // It went away, or was given up because it was too slow: heartbeats were missed.
      logger.warn({}, 'heartbeats are heard again; every cluster has its whole grace');
      engine.awaitReturn(clock.monotonicMs());
      isHearing = true;
    }
  }
  async function followMain(): Promise<void> {
    for await (const { type } of main.status()) {
      if (type === 'disconnect') isConnected = false;
      if (type !== 'reconnect') continue;
      // Events, heartbeats and notices were missed: everything is read again, and everybody has a whole grace.
      engine.forgetConnections();
      if (!(await readAllAgain())) return;
      engine.awaitReturn(clock.monotonicMs());
      isConnected = true;
    }
  }
  void followHearing();
  void followMain();
  followOwnLosses({ main, second: hearing }, () => options.metrics.count('rollcall_bus_reconnects_total'));
  return {
    away() {
      if (!isConnected) return 'not connected to the bus';
      return isHearing ? undefined : 'heartbeats are not heard';
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';

const proveAgainAfterMs = 5000;

export interface ReceivingWatch {
  /** Whether heartbeats reach this replica, proved now. */
  check(): Promise<boolean>;
  /** By the last proof. */
  receivesNothing(): boolean;
}

/**
 * Remembers whether heartbeats reach this replica. Once they do not, it is proved again and again until they do: nobody else would ask
 * while all heartbeats come.
 * @param isReceiving - proves it
 */
export function watchReceiving(
  nc: Pick<NatsConnection, 'isClosed'>,
  isReceiving: () => Promise<boolean>,
  againAfterMs = proveAgainAfterMs,
): ReceivingWatch {
  let receivesNothing = false;

  async function untilHeard(): Promise<void> {
    while (receivesNothing && !nc.isClosed()) {
      await delay(againAfterMs, undefined, { ref: false });
      if (await isReceiving().catch(() => false)) receivesNothing = false;
    }
  }
  return {
    async check() {
      const receivedNothing = receivesNothing;
      receivesNothing = !(await isReceiving());
      if (receivesNothing && !receivedNothing) void untilHeard();
      return !receivesNothing;
    },
    receivesNothing: () => receivesNothing,
  };
}

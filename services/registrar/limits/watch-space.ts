import type { NatsConnection } from '@nats-io/transport-node';
import { eventSpace } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { isFull } from './refuse-when-full.ts';

export interface SpaceWatch {
  /** 0 to 1, as last measured; undefined while it could not be, or where nothing is limited. */
  usedShare(): number | undefined;
  stop(): Promise<void>;
}

/** Measures from time to time how full the place of the history is, and says when that begins and ends to matter. */
export async function watchSpace(
  nc: NatsConnection,
  options: { everyMs: number; logger: Logger; metrics: Metrics },
): Promise<SpaceWatch> {
  const { everyMs, logger, metrics } = options;
  let usedShare: number | undefined;
  let isStopped = false;

  async function measure(): Promise<void> {
    try {
      const space = await eventSpace(nc);
      const wasFull = isFull(usedShare);
      usedShare = space?.usedShare;
      const isNowFull = isFull(usedShare);
      metrics.gauge('rollcall_events_space_used_ratio', usedShare ?? 0);
      if (isNowFull && !wasFull)
        logger.error({ state: 'full' }, 'the disk for events is nearly full; new requests are refused');
      if (wasFull && !isNowFull)
        logger.info({ state: 'room' }, 'there is room for events; requests are taken');
    } catch (thrown) {
      // What was measured last still holds; a bus that is away takes no request anyway.
      if (!isStopped) logger.debug({ err: toRollcallError(thrown) }, 'the space for events is not known');
    }
  }

  let measuring = measure();
  await measuring;
  const timer = setInterval(() => {
    measuring = measuring.then(measure);
  }, everyMs);
  // A start that fails later ends the connection and nothing else.
  void nc.closed().then(() => clearInterval(timer));
  return {
    usedShare: () => usedShare,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await measuring;
    },
  };
}

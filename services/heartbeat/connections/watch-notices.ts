import type { NatsConnection } from '@nats-io/transport-node';
import type { BusAddress, BusCredentials } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { checkNotices } from './notice-check.ts';

/** While they arrive; an account that is changed wrongly shows within that time. */
const againAfterMs = 300_000;
/** While they do not, so that it is seen soon that it has been mended. */
const againWhileMissingMs = 20_000;

/** Comes and goes like an agent. */
export interface Probe {
  readonly address: BusAddress;
  readonly user: BusCredentials;
}

export interface NoticeWatch {
  /** Why there is one signal of life only, or undefined. Undefined too until the first check is done. */
  missing(): string | undefined;
  stop(): void;
}

/** Proves at the start, and from then on every few minutes, that the server's notices of connections arrive. */
export function watchNotices(
  nc: NatsConnection,
  options: { probe: Probe | undefined; logger: Logger },
): NoticeWatch {
  const { probe, logger } = options;
  let missing: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function look(user: Probe): Promise<void> {
    try {
      const kind = await checkNotices(nc, user);
      const now = kind && `notices of ${kind} agents do not arrive`;
      if (kind !== undefined && missing === undefined)
        logger.error(
          { state: kind },
          'one signal: the server does not tell of connections; only missing heartbeats show who is gone',
        );
      if (now === undefined && missing !== undefined)
        logger.info({}, 'the server tells of connections again');
      missing = now;
    } catch (thrown) {
      // The bus is away, or takes no more connections: that is known elsewhere, and says nothing about notices.
      logger.warn(
        { err: toRollcallError(thrown) },
        'it was not checked whether notices of connections arrive',
      );
    }
    if (isStopped) return;
    timer = setTimeout(() => void look(user), missing === undefined ? againAfterMs : againWhileMissingMs);
    timer.unref();
  }

  if (probe) void look(probe);
  else missing = 'this hub was set up before notices of connections could be checked';
  return {
    missing: () => (missing === undefined ? undefined : `one signal: ${missing}`),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger, Metrics } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import { memberOfNotice } from './connection-notice.ts';
import { type NoticeWatch, type Probe, watchNotices } from './watch-notices.ts';

/** Hears the server's notices of members that connect and disconnect, and checks from time to time that they come at all. */
export function hearNotices(
  nc: NatsConnection,
  options: {
    engine: Pick<LivenessEngine, 'connected' | 'disconnected' | 'opened' | 'closed'>;
    clock: HubClock;
    logger: Logger;
    metrics: Metrics;
    probe: Probe | undefined;
  },
): NoticeWatch {
  const { engine, clock, metrics } = options;
  const subscriptions = (['connected', 'disconnected'] as const).map((kind) =>
    nc.subscribe(`rollcall.sys.${kind}`, {
      callback: (error, message) => {
        const member = error ? undefined : memberOfNotice(message.string());
        if (!member) return;
        if (kind === 'connected') engine.opened(member);
        else engine.closed(member);
        if (member.isBeside) return;
        metrics.count('rollcall_connection_notices_total', { kind });
        engine[kind](member, clock.monotonicMs());
      },
    }),
  );
  const watch = watchNotices(nc, options);
  return {
    missing: watch.missing,
    stop() {
      watch.stop();
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

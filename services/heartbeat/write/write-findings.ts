import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import type { Logger } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { EngineOutput } from '../engine/liveness-signals.ts';
import { writeOutage } from '../outage/outage-log.ts';
import { writeKeyUse } from './key-use-event.ts';
import type { SideWrites } from './background-writes.ts';

/** Says on `rollcall.live.<id>`, which is not stored, what has become of a cluster. */
export type SayLive = (clusterId: string, state: string, reason: string) => void;

/** What the engine finds beside transitions: outages and the use of keys are written, the rest is said to those who watch. */
export function writeFindings(
  nc: Pick<NatsConnection, 'isClosed' | 'publish'>,
  options: { log: EventLog; clock: HubClock; logger: Logger; aside: SideWrites },
): EngineOutput & { live: SayLive } {
  const { log, clock, logger, aside } = options;
  return {
    live(clusterId, state, reason) {
      if (!nc.isClosed())
        nc.publish(`rollcall.live.${clusterId}`, JSON.stringify({ state, atMs: clock.hubMs(), reason }));
    },
    outage({ isDeadline: _isDeadline, ...change }) {
      const { silent: count, change: state, group } = change;
      const of = group ? { reason: `${group.kind} ${group.name}` } : {};
      logger.warn({ count, state, ...of }, 'outage: a large part of the fleet is silent together');
      aside.write(writeOutage(log, { ...change, nowMs: clock.hubMs() }), 'outage could not be written');
    },
    keyUse(clusterId, change) {
      if (change === 'shared') logger.warn({ clusterId }, 'two agents use the key of one cluster');
      const writing = writeKeyUse(log, { clusterId, change, nowMs: clock.hubMs() });
      aside.write(writing, 'the use of a key could not be written');
    },
  };
}

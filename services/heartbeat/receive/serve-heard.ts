import { type NatsConnection, nuid } from '@nats-io/transport-node';
import { decodeHeardQuestion, type Heard, type HeardReply, heardSubject } from '@rollcall/shared/protocol';
import type { HeartbeatPartition } from '../members/heartbeat-partition.ts';
import { type HubClock, toHubTime } from '../engine/hub-clock.ts';
import type { FleetSnapshot } from '../engine/fleet-snapshot.ts';

/**
 * Answers people who ask which clusters are heard (`rollcall get clusters --live`). It costs a look into the table for each
 * cluster that is asked about, and nothing is written.
 */
export function serveHeard(
  nc: NatsConnection,
  options: {
    snapshot: Pick<FleetSnapshot, 'stateOf' | 'lastHeartbeatMs' | 'serverOf'>;
    clock: HubClock;
    partition: HeartbeatPartition | undefined;
  },
): { readonly asked: () => number; stop(): void } {
  const { snapshot, clock, partition } = options;
  const replica = nuid.next();
  let asked = 0;

  function heard(id: string): Heard[] {
    const state = snapshot.stateOf(id);
    if (state === undefined) return [];
    const server = snapshot.serverOf(id);
    const lastHeartbeatMs = snapshot.lastHeartbeatMs(id) ?? -Infinity;
    return [
      {
        id,
        state,
        ...(lastHeartbeatMs === -Infinity ? {} : { lastHeartbeatAtMs: toHubTime(clock, lastHeartbeatMs) }),
        ...(server === undefined ? {} : { server }),
      },
    ];
  }
  const subscription = nc.subscribe(heardSubject, {
    callback: (error, message) => {
      const question = error ? undefined : decodeHeardQuestion(message.string());
      if (!question) return;
      asked++;
      const answer: HeardReply = {
        replica,
        ...(partition ? { part: { ...partition } } : {}),
        clusters: question.ids.flatMap(heard),
      };
      message.respond(JSON.stringify(answer));
    },
  });
  return { asked: () => asked, stop: () => subscription.unsubscribe() };
}

import { connect } from '@nats-io/transport-node';
import { connectionOptions, jwtProof } from '@rollcall/shared/bus';
import type { TestHub } from './test-hub.ts';

export interface HeartbeatsHeard {
  /** When each cluster of that list was first heard since this call, once all have been. */
  allOf(clusterIds: readonly string[]): Promise<Map<string, number>>;
  stop(): Promise<void>;
}

/** Hears the heartbeats of all clusters as the heartbeat service does, through outages of the server. */
export async function hearHeartbeats(
  hub: TestHub,
  nowMs = () => performance.now(),
): Promise<HeartbeatsHeard> {
  const listener = {
    account: 'HEARTBEAT',
    description: 'a test',
    publish: [],
    subscribe: ['rollcall.heartbeat.*'],
  } as const;
  const nc = await connect({
    ...connectionOptions(hub.address, 'listener'),
    authenticator: jwtProof(hub.userWith(listener, 'listener')),
    // There before the others: their first heartbeats are waited for.
    reconnectTimeWait: 10,
    reconnectJitter: 0,
    reconnectJitterTLS: 0,
  });
  let waiting: { open: Set<string>; heard: Map<string, number>; done: () => void } | undefined;
  nc.subscribe('rollcall.heartbeat.*', {
    callback: (error, { subject }) => {
      const clusterId = subject.slice('rollcall.heartbeat.'.length);
      if (error || !waiting?.open.delete(clusterId)) return;
      waiting.heard.set(clusterId, nowMs());
      if (waiting.open.size === 0) waiting.done();
    },
  });
  await nc.flush();
  return {
    async allOf(clusterIds) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const heard = new Map<string, number>();
      waiting = { open: new Set(clusterIds), heard, done: resolve };
      await promise;
      return heard;
    },
    stop: () => nc.close(),
  };
}

import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import type { Logger } from '@rollcall/shared/service';
import { type HeartbeatPartition, isInPartition } from './heartbeat-partition.ts';
import type { HubClock } from '../engine/hub-clock.ts';
import { knownCluster, readKnownClusters } from './known-clusters.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import { stateAfter } from './decide-liveness.ts';
import { membershipOf } from './membership.ts';
import { watchRecords } from './follow-cluster-records.ts';

export interface FollowedMembers {
  /** Everything is read again; what is heard meanwhile waits, so that nothing older overwrites it. */
  readAll(): Promise<void>;
  /** Finds what was stored and never told. */
  lookAgain(): void;
  stop(): Promise<void>;
}

/**
 * Keeps the engine's clusters as the stream has them: those that are members, with what is set for them and written of them.
 * Nothing is taken before the first `readAll`.
 * @param options.cameIn - is told who was no member before
 */
export function followMembers(
  nc: NatsConnection,
  options: {
    engine: LivenessEngine;
    log: Pick<EventLog, 'read' | 'lastWords' | 'heard' | 'scan'>;
    clock: HubClock;
    logger: Logger;
    partition: HeartbeatPartition | undefined;
    /** Of the stream, now. */
    lastSequence(): Promise<number>;
    cameIn(clusterId: string): void;
  },
): FollowedMembers {
  const { engine, log, clock, logger, partition } = options;
  const watch = watchRecords(nc, {
    log,
    logger,
    isNews(clusterId, type) {
      const isOwnWriting = engine.snapshot.isWriting(clusterId) && type in stateAfter;
      return !isOwnWriting && (engine.snapshot.stateOf(clusterId) ?? 'neverSeen') !== stateAfter[type];
    },
    isKnown: (clusterId) => engine.snapshot.stateOf(clusterId) !== undefined,
    changed(clusterId, record) {
      if (!isInPartition(partition, clusterId)) return;
      const member = membershipOf(record);
      const wasKnown = engine.snapshot.stateOf(clusterId) !== undefined;
      if (member) engine.put(knownCluster(clusterId, member, clock), clock.monotonicMs());
      else engine.remove(clusterId, clock.monotonicMs());
      if (member && !wasKnown) options.cameIn(clusterId);
    },
  });
  return {
    async readAll() {
      watch.close();
      const lastSequence = await options.lastSequence();
      const members = await readKnownClusters(log, logger, (id) => isInPartition(partition, id));
      const nowMs = clock.monotonicMs();
      for (const clusterId of engine.snapshot.clusterIds())
        if (!members.has(clusterId)) engine.remove(clusterId, nowMs);
      for (const [clusterId, member] of members) engine.put(knownCluster(clusterId, member, clock), nowMs);
      watch.isKnownUpTo(lastSequence);
      watch.open();
    },
    lookAgain: () => watch.lookAgain(),
    stop: () => watch.stop(),
  };
}

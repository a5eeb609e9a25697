import { setTimeout as delay } from 'node:timers/promises';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { heartbeatFlagsOf, type EventLog } from '@rollcall/shared/bus';
import { clusterRecord, isSafeId } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { type HeartbeatPartition, heartbeatSubjects, isInPartition } from '../members/heartbeat-partition.ts';
import { ForeignHeartbeats } from './foreign-heartbeats.ts';
import { idStart, sizeOf, subjectBytes } from './heartbeat-subject.ts';
import { createLoopbackCheck } from './loopback-check.ts';
import type { HubClock } from '../engine/hub-clock.ts';
import { knownCluster } from '../members/known-clusters.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import { type Membership, membershipOf } from '../members/membership.ts';
import { UnknownClusters } from './unknown-clusters.ts';

/** Look-ups of unknown ids under way; a flood beyond it is only counted, the next heartbeat of a real one comes. */
const lookUpsAtOnce = 64;

/** A first heartbeat that is lost makes its cluster wait for a whole interval, so a read that fails is tried again. */
const readAgainAfterMs = [100, 1000];

/** Whatever number of ids that are no members send heartbeats: one line a minute says so. */
const reportUnknownAfterMs = 60_000;

/** Far above what a heartbeat needs; what is larger counts as several. */
const heartbeatSizeBytes = 1024;

export interface HeartbeatReceiver {
  /** How many heartbeats came; of ids that are no members; with a body that is no heartbeat. */
  readonly counts: { taken: number; unknown: number; malformed: number };
  /**
   * Takes the heartbeat that was ignored because its cluster was no member yet: a read can be a moment behind the admission, and
   * the next heartbeat is a whole interval away.
   */
  hearAgain(clusterId: string): void;
  /** Who sent more than that since this was asked last, and is no cluster of the engine's. */
  takeFloods(most: number): { clusterId: string; heartbeats: number }[];
  /** Nothing is heard before. */
  listen(): void;
  /** Whether a heartbeat of our own comes back, on each of our subscriptions; true before it listens. */
  isReceiving(): Promise<boolean>;
  stop(): Promise<void>;
}

/**
 * Hears the heartbeats of all clusters. A known id costs one look into the table; an unknown one costs one read of its record,
 * and is then ignored for a while if it is no member.
 */
export function receiveHeartbeats(
  nc: NatsConnection,
  options: {
    engine: LivenessEngine;
    log: Pick<EventLog, 'read'>;
    clock: HubClock;
    logger: Logger;
    partition: HeartbeatPartition | undefined;
  },
): HeartbeatReceiver {
  const { engine, log, clock, logger, partition } = options;
  const subjects = heartbeatSubjects(partition);
  const loopback = createLoopbackCheck(nc, subjects);
  const counts = { taken: 0, unknown: 0, malformed: 0 };
  const unknown = new UnknownClusters();
  const foreign = new ForeignHeartbeats();
  const lookUps = new Set<Promise<void>>();
  let reported = { atMs: -Infinity, count: 0 };

  function reportUnknown(clusterId: string, nowMs: number): void {
    if (nowMs - reported.atMs < reportUnknownAfterMs) return;
    logger.warn({ clusterId, count: counts.unknown - reported.count }, 'heartbeats of no member are ignored');
    reported = { atMs: nowMs, count: counts.unknown };
  }

  async function readMember(id: string, waitsMs = readAgainAfterMs): Promise<Membership | undefined> {
    const [afterMs, ...later] = waitsMs;
    try {
      return membershipOf(clusterRecord(await log.read({ kind: 'cluster', id })));
    } catch (error) {
      if (afterMs === undefined) throw error;
      await delay(afterMs);
      return readMember(id, later);
    }
  }

  async function lookUp(id: string, flags: number, nowMs: number): Promise<void> {
    try {
      const member = await readMember(id);
      if (!member) {
        reportUnknown(id, nowMs);
        return;
      }
      // A record that is read late makes it unknown once more: this heartbeat must not be taken again then, as a new one.
      unknown.forget(id);
      engine.put(knownCluster(id, member, clock), nowMs);
      engine.hear(Buffer.from(id, 'latin1'), 0, id.length, flags, nowMs);
    } catch (error) {
      logger.warn({ err: error as Error, clusterId: id }, 'record could not be read');
    }
  }

  function heardUnknown(subject: Uint8Array, start: number, flags: number): void {
    counts.unknown++;
    const nowMs = clock.monotonicMs();
    if (unknown.has(subject, start, nowMs)) return;
    const id = Buffer.from(subject.buffer, subject.byteOffset + start, subject.length - start).toString(
      'latin1',
    );
    // Of another part of the fleet: somebody has set the number of parts, and not everywhere.
    if (!isSafeId(id) || !isInPartition(partition, id)) return;
    unknown.add(id, nowMs);
    // Its admission may be on the way: then it is heard again.
    if (lookUps.size >= lookUpsAtOnce) return;
    const work = lookUp(id, flags, nowMs).finally(() => lookUps.delete(work));
    lookUps.add(work);
  }

  const callback = (error: Error | null, message: Msg) => {
    if (error) {
      logger.error({ err: error }, 'heartbeats are not heard');
      return;
    }
    const flags = heartbeatFlagsOf(message.data);
    const isMalformed = flags < 0 && !loopback.heard(message.subject, message.data);
    if (flags < 0 && !isMalformed) return;
    const subject = subjectBytes(message);
    const start = idStart(subject);
    const size = sizeOf(message);
    if (isMalformed || size > heartbeatSizeBytes) {
      const times = Math.floor(size / heartbeatSizeBytes) + (isMalformed ? 1 : 0);
      const isKnown = engine.count(subject, { start, end: subject.length }, times);
      if (!isKnown) foreign.count(subject, start, times);
    }
    if (isMalformed) {
      counts.malformed++;
      return;
    }
    if (engine.hear(subject, start, subject.length, flags, clock.monotonicMs())) counts.taken++;
    else {
      foreign.count(subject, start, 1);
      heardUnknown(subject, start, flags);
    }
  };
  const subscriptions: Subscription[] = [];
  return {
    counts,
    takeFloods: (most) => foreign.takeFloods(most),
    listen() {
      for (const subject of subjects) subscriptions.push(nc.subscribe(subject, { callback }));
    },
    isReceiving: async () => subscriptions.length === 0 || loopback.isReceiving(),
    hearAgain(clusterId) {
      const bytes = Buffer.from(clusterId, 'latin1');
      const nowMs = clock.monotonicMs();
      if (!unknown.has(bytes, 0, nowMs)) return;
      unknown.forget(clusterId);
      engine.hear(bytes, 0, bytes.length, 0, nowMs);
    },
    async stop() {
      for (const subscription of subscriptions) subscription.unsubscribe();
      await Promise.allSettled(lookUps);
    },
  };
}

import type { EventLog } from '@rollcall/shared/bus';
import { clusterRecord, foldRecord, type Liveness } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { fromHubTime, type HubClock } from './hub-clock.ts';
import type { KnownCluster } from './liveness-signals.ts';
import { livenessStateOf } from './liveness-event.ts';
import { type Membership, type MemberSections, membershipOf } from './membership.ts';

/** What the engine needs of a member, in its own clock. */
export function knownCluster(clusterId: string, member: Membership, clock: HubClock): KnownCluster {
  const { key, admittedAtMs, intervalMs, graceMs, clusterSet, liveness } = member;
  return {
    clusterId,
    key,
    intervalMs,
    graceMs,
    clusterSet,
    state: livenessStateOf(liveness),
    // What the former key of the cluster has said is no sign of life of this one.
    sinceMs: fromHubTime(clock, liveness?.sinceMs ?? admittedAtMs),
    lastBeatMs: liveness ? fromHubTime(clock, liveness.lastBeatAtMs) : -Infinity,
    keyShared: liveness?.keySharedSinceMs !== undefined,
  };
}

interface Sections {
  identity?: NonNullable<MemberSections['identity']>;
  decision?: NonNullable<MemberSections['decision']>;
  liveness?: Liveness;
}

/**
 * All members, from one pass over the history of clusters. It keeps only the few fields of each that liveness needs, so
 * that a long history costs time and not memory.
 */
export async function readKnownClusters(
  log: Pick<EventLog, 'scan'>,
  logger: Logger,
  isOurs: (clusterId: string) => boolean,
): Promise<Map<string, Membership>> {
  const all = new Map<string, Sections>();
  const onSkip = (error: Error) => logger.warn({ err: error }, 'event skipped');
  for await (const event of log.scan({ filter: 'cluster.*.>', onSkip })) {
    if (!isOurs(event.id)) continue;
    const sections = all.get(event.id) ?? {};
    all.set(event.id, sections);
    const { identity, decision, liveness } = clusterRecord(foldRecord(event, [event]));
    if (identity) {
      const { state, admittedKey, admittedAtMs, rotatedFrom } = identity;
      sections.identity = { state, admittedKey, admittedAtMs, rotatedFrom };
    }
    if (decision) {
      const { verdict, key, approvedKey, heartbeat, revokedKeys, clusterSet } = decision;
      sections.decision = { verdict, key, approvedKey, heartbeat, revokedKeys, clusterSet };
    }
    if (liveness) sections.liveness = liveness;
  }
  const members = new Map<string, Membership>();
  for (const [clusterId, sections] of all) {
    const member = membershipOf(sections);
    if (member) members.set(clusterId, member);
  }
  return members;
}

import { z } from 'zod';
import type { EventLog, LastWord } from '@rollcall/shared/bus';
import {
  admitted,
  type Decision,
  decisionSchema,
  type Identity,
  identitySchema,
  type Liveness,
  livenessSchema,
  livenessStateOf,
  requested,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { fromHubTime, type HubClock } from '../engine/hub-clock.ts';
import type { KnownCluster } from '../engine/liveness-signals.ts';
import { hasJoined, type Membership, type MemberSections, membershipOf } from './membership.ts';

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
    lastHeartbeatMs: liveness ? fromHubTime(clock, liveness.lastHeartbeatAtMs) : -Infinity,
    keyShared: liveness?.keySharedSinceMs !== undefined,
  };
}

/** The few fields that liveness needs, by the schemas of their writers. */
const fieldsOf = {
  registrar: z.object(
    identitySchema.pick({ state: true, admittedKey: true, admittedAtMs: true, rotatedFrom: true }).shape,
  ),
  approver: z.object(
    decisionSchema.pick({
      verdict: true,
      key: true,
      approvedKey: true,
      heartbeat: true,
      revokedKeys: true,
      clusterSet: true,
    }).shape,
  ),
  heartbeat: livenessSchema,
} as const;
type Writer = keyof typeof fieldsOf;
const writers = Object.keys(fieldsOf) as Writer[];
const isWriter = (name: string): name is Writer => name in fieldsOf;

interface Sections {
  identity?: NonNullable<MemberSections['identity']>;
  decision?: NonNullable<MemberSections['decision']>;
  liveness?: Liveness;
  /** The sequence that each of them was read at. */
  readonly at: Record<Writer, number>;
}

/**
 * Who was admitted once and never asked again: its liveness was written of that admission, so it names the key that is in, and no
 * other; what only carries a flood was written of none. The decision must say the same. Reading the admissions as well would be a third of all that is read.
 */
function admissionSaid({ decision, liveness }: Sections): Sections['identity'] {
  if (!liveness || !hasJoined(liveness) || decision?.approvedKey !== liveness.key) return undefined;
  return { state: 'admitted', admittedKey: liveness.key, admittedAtMs: liveness.joinedAtMs };
}

/**
 * All members, from the last word of each writer about each cluster, however long the history is. It keeps only the few fields of each that liveness needs.
 */
export async function readKnownClusters(
  log: Pick<EventLog, 'lastWords'>,
  logger: Logger,
  isOurs: (clusterId: string) => boolean,
): Promise<Map<string, Membership>> {
  const all = new Map<string, Sections>();
  const onSkip = (error: Error) => logger.warn({ err: error }, 'event skipped');

  function take(word: LastWord): void {
    const { id, writer, sequence } = word;
    if (!isWriter(writer)) return;
    const sections: Sections = all.get(id) ?? { at: { registrar: 0, approver: 0, heartbeat: 0 } };
    if (sections.at[writer] > sequence) return;
    // What does not fit throws when it is decoded, and is skipped.
    if (writer === 'registrar')
      sections.identity =
        fieldsOf.registrar.safeParse(word.section).data ?? (word.decode().section as Identity);
    else if (writer === 'approver')
      sections.decision =
        fieldsOf.approver.safeParse(word.section).data ?? (word.decode().section as Decision);
    else
      sections.liveness =
        fieldsOf.heartbeat.safeParse(word.section).data ?? (word.decode().section as Liveness);
    sections.at[writer] = sequence;
    all.set(id, sections);
  }
  await log.lastWords(
    {
      kind: 'cluster',
      writers,
      // Who was never admitted is no member.
      having: admitted.type,
      before: requested.type,
      isWanted: isOurs,
      isSpared(id) {
        const sections = all.get(id);
        const identity = sections && admissionSaid(sections);
        if (identity) sections.identity = identity;
        return identity !== undefined;
      },
      onSkip,
    },
    take,
  );
  const members = new Map<string, Membership>();
  for (const [clusterId, sections] of all) {
    const member = membershipOf(sections);
    if (member) members.set(clusterId, member);
  }
  return members;
}

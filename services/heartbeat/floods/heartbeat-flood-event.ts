import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  createEventId,
  draft,
  type EventDraft,
  flooding,
  isDecidedSince,
  isRecent,
  type Liveness,
} from '@rollcall/shared/events';
import type { HeardFlood } from '../engine/liveness-signals.ts';
import { membershipOf, neverJoinedAtMs } from '../members/membership.ts';

/** A flood that goes on is written again only after this long: the history must not grow with it. */
export const sayAgainAfterMs = 600_000;

export interface FloodFinding extends HeardFlood {
  readonly seconds: number;
  /** Hub time. */
  readonly nowMs: number;
}

/**
 * What carries the flood of a member that never sent a heartbeat: the first heartbeat is `joined`, as ever.
 */
function neverHeard(key: string, nowMs: number): Liveness {
  return {
    state: 'unreachable',
    key,
    cause: 'Unreachable',
    joinedAtMs: neverJoinedAtMs,
    sinceMs: nowMs,
    lastHeartbeatAtMs: -1,
  };
}

/** One event a flood, whichever replica notices first. It changes nothing of whether the cluster is alive. */
export function decideFlood(record: ClusterRecord, finding: FloodFinding): EventDraft[] {
  const member = membershipOf(record);
  if (!member) return [];
  const { heartbeats, seconds, connections, nowMs } = finding;
  const told = record.liveness?.key === member.key ? record.liveness : undefined;
  const saidAtMs = (member.liveness ?? told)?.flood?.atMs;
  // Somebody who let it in again since has not seen this flood.
  const isSaid = saidAtMs !== undefined && isRecent(saidAtMs, { nowMs, withinMs: sayAgainAfterMs });
  if (isSaid && !isDecidedSince(record, { atMs: saidAtMs, by: 'heartbeat' }, nowMs)) return [];
  const before = member.liveness ?? neverHeard(member.key, nowMs);
  const rate = Math.round(heartbeats / seconds);
  return [
    draft(flooding, record, {
      by: { service: 'heartbeat' },
      reason: 'Flooding',
      message:
        connections === undefined
          ? `${heartbeats} heartbeats in ${seconds.toFixed(1)} s, ${rate} a second`
          : `${connections} connections at once, of which an agent has two`,
      // By the key that it has now: after a rotation what is known of its liveness is of the one before.
      section: {
        ...before,
        key: member.key,
        flood: { atMs: nowMs, heartbeats, seconds, ...(connections === undefined ? {} : { connections }) },
      },
    }),
  ];
}

export async function writeFlood(log: EventLog, finding: FloodFinding): Promise<void> {
  await decideAndAppend(
    log,
    {
      gather: async () => clusterRecord(await log.read({ kind: 'cluster', id: finding.clusterId })),
      decide: (record) => decideFlood(record, finding),
    },
    { correlation: createEventId(finding.nowMs) },
  );
}

import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  createEventId,
  draft,
  type EventDraft,
  flooded,
  isDecidedSince,
  isRecent,
} from '@rollcall/shared/events';
import type { Flood } from './find-request-flood.ts';

/** A flood that goes on while nobody decides about it is written again only after this long: the history must not grow with it. */
export const sayAgainAfterMs = 600_000;

export interface FloodFinding extends Flood {
  readonly clusterId: string;
  readonly agentKey: string;
  /** Hub time. */
  readonly nowMs: number;
}

/** Whether the key is one that this cluster has, or asks for. */
function isOfCluster({ identity, decision }: ClusterRecord, agentKey: string): boolean {
  const keys = [identity?.request.key, identity?.admittedKey, decision?.approvedKey, decision?.retiringKey];
  return keys.includes(agentKey);
}

/** One event a flood, whichever replica hears that its connections were ended. What follows is the approver's. */
export function decideFlooded(record: ClusterRecord, finding: FloodFinding): EventDraft[] {
  const { agentKey: key, requests, seconds, nowMs } = finding;
  const { identity, decision } = record;
  if (!identity || identity.state === 'left' || !isOfCluster(record, key)) return [];
  // A key that is out already needs no other word; its connection was only still to be ended.
  if (decision?.revokedKeys.some((revoked) => revoked.key === key)) return [];
  const before = identity.flood;
  const isSaid = before?.key === key && isRecent(before.atMs, { nowMs, withinMs: sayAgainAfterMs });
  if (isSaid && !isDecidedSince(record, { atMs: before.atMs, by: 'registrar' }, nowMs)) return [];
  return [
    draft(flooded, record, {
      by: { service: 'registrar' },
      reason: 'Flooding',
      message: `${requests} requests too many in ${seconds.toFixed(1)} s`,
      section: { ...identity, flood: { key, atMs: nowMs, requests, seconds } },
    }),
  ];
}

export async function writeFlooded(
  log: Pick<EventLog, 'read' | 'append'>,
  finding: FloodFinding,
): Promise<void> {
  await decideAndAppend(
    log,
    {
      gather: async () => clusterRecord(await log.read({ kind: 'cluster', id: finding.clusterId })),
      decide: (record) => decideFlooded(record, finding),
    },
    { correlation: createEventId(finding.nowMs) },
  );
}

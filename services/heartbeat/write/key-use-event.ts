import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  createEventId,
  draft,
  type EventDraft,
  keyShared,
  keyUnshared,
} from '@rollcall/shared/events';
import { membershipOf } from '../members/membership.ts';

export interface KeyUseFinding {
  readonly clusterId: string;
  readonly change: 'shared' | 'single';
  /** Hub time. */
  readonly nowMs: number;
}

/** One event for each change, whichever replica notices first. */
function decideKeyUse(record: ClusterRecord, { change, nowMs }: KeyUseFinding): EventDraft[] {
  const before = membershipOf(record)?.liveness;
  if (!before || (before.keySharedSinceMs !== undefined) === (change === 'shared')) return [];
  const by = { service: 'heartbeat' };
  if (change === 'shared') {
    const message = 'two agents use the key of this cluster, in two places';
    const section = { ...before, keySharedSinceMs: nowMs };
    return [draft(keyShared, record, { by, reason: 'KeyInUseTwice', message, section })];
  }
  const { keySharedSinceMs: _over, ...section } = before;
  const message = 'one agent alone uses the key of this cluster again';
  return [draft(keyUnshared, record, { by, reason: 'KeyInUseOnce', message, section })];
}

export async function writeKeyUse(log: EventLog, finding: KeyUseFinding): Promise<void> {
  await decideAndAppend(
    log,
    {
      gather: async () => clusterRecord(await log.read({ kind: 'cluster', id: finding.clusterId })),
      decide: (record) => decideKeyUse(record, finding),
    },
    { correlation: createEventId(finding.nowMs) },
  );
}

import {
  agentAwaitedUntilMs,
  type ClusterRecord,
  draft,
  type EventDraft,
  left,
} from '@rollcall/shared/events';

/** Hub time, in ms since the epoch. */
export interface LeavingContext {
  readonly record: ClusterRecord;
  readonly nowMs: number;
}

/**
 * Of this life: a cluster that came back may still have the end of its former one in its record. And by its leaving: what was
 * denied or revoked before keeps its namespace, which goes only with that.
 */
function isGone({ access, decision }: ClusterRecord): boolean {
  const isTakenAway = access?.state === 'deprovisioned' && access.verdict === 'leaving';
  return isTakenAway && access.requestId === decision?.requestId;
}

/** A leaving ends when access is gone and the agent has said that it is done, or its time is over. */
export function leftStep({ record, nowMs }: LeavingContext): EventDraft[] {
  const { identity, decision } = record;
  if (!identity || identity.state === 'left') return [];
  if (decision?.verdict === 'leaving' && isGone(record) && nowMs >= (agentAwaitedUntilMs(record) ?? 0)) {
    const { admittedKey: _gone, ...rest } = identity;
    return [
      draft(left, record, {
        reason: 'Left',
        message: 'access and credentials are gone',
        section: { ...rest, state: 'left' as const },
      }),
    ];
  }
  return [];
}

/**
 * When a leaving cluster is looked at although nothing happens: the time of its agent ends without any event.
 * @returns hub time in ms, now or before for one whose agent is awaited no more; undefined for who is not leaving
 */
export function leavingLookAtMs({ record }: Pick<LeavingContext, 'record'>): number | undefined {
  if (!record.identity || record.identity.state === 'left' || record.decision?.verdict !== 'leaving')
    return undefined;
  return agentAwaitedUntilMs(record) ?? 0;
}

import { type ClusterRecord, isNewer, type StoredEvent } from '@rollcall/shared/events';
import { inSpan, traceIdOf } from '@rollcall/shared/tracing';
import type { ClusterTools, ShownCluster, ShownRequest } from './projection-context.ts';

export type ShowStatus = (
  record: ClusterRecord,
  current: ShownCluster | ShownRequest,
  write: () => Promise<boolean>,
) => Promise<boolean>;

/**
 * Writes a status as the last step of the trace that its newest event belongs to. A status that shows no new event, but
 * facts or a repaired field, is no step of anything, and its event may be old: it says nothing of the lag.
 */
export function createShowStatus({
  nowMs,
  metrics,
  logger,
}: Pick<ClusterTools, 'nowMs' | 'metrics' | 'logger'>): ShowStatus {
  const startedAtMs = nowMs();
  function noteShown({ aggregate }: ClusterRecord, newest: StoredEvent, object: string): void {
    const seconds = Math.max(0, nowMs() - newest.timeMs) / 1000;
    metrics.observe('rollcall_projection_duration_seconds', seconds);
    const { sequence: seq, correlation, traceparent } = newest;
    const traceId = traceIdOf(traceparent) ?? '';
    logger.debug({ clusterId: aggregate.id, object, seq, correlation, traceId }, 'status shown');
  }

  return async (record, current, write) => {
    const { newest, head, aggregate } = record;
    const shown = current.status?.observed;
    if (!newest || !head) return write();
    // An object that is made again shows no event yet, and its newest one may be months old.
    const isNews = shown ? isNewer(head, shown) : newest.timeMs >= startedAtMs;
    if (!isNews) return write();
    const object = `${current.kind}/${current.metadata.name}`;
    const step = {
      name: 'projector status',
      kind: 'internal',
      traceparent: newest.traceparent,
      attributes: {
        'rollcall.service': 'projector',
        'rollcall.object': object,
        'rollcall.event.id': aggregate.id,
        'rollcall.event.sequence': newest.sequence,
        'rollcall.correlation': newest.correlation,
      },
    } as const;
    return inSpan(step, async () => {
      const isTaken = await write();
      if (isTaken) noteShown(record, newest, object);
      return isTaken;
    });
  };
}

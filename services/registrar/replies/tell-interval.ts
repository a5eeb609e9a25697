import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { clusterRecord, type StoredEvent } from '@rollcall/shared/events';
import { memberAccessOf, type ReplySettings, sendReply } from './reply.ts';
import { intervalFor } from './heartbeat-interval.ts';
import { keyStatusOf } from './key-status.ts';

/** Tells a live member at once how often to send heartbeats, by which the heartbeat service judges it from now on, and whether people may enter. */
export async function tellInterval(
  nc: NatsConnection,
  event: Pick<StoredEvent, 'id'>,
  { log, settings }: { log: Pick<EventLog, 'read'>; settings: ReplySettings },
): Promise<void> {
  const record = clusterRecord(await log.read({ kind: 'cluster', id: event.id }));
  const agentKey = record.decision?.approvedKey;
  if (agentKey === undefined || keyStatusOf(record, agentKey).kind !== 'member') return;
  const result = { kind: 'done', ...intervalFor(record, settings), ...memberAccessOf(record) } as const;
  const inReplyTo = record.identity?.request.id ?? '';
  sendReply(nc, settings, { agentKey, verb: 'interval', inReplyTo, nowMs: Date.now(), result });
}

import { eventTypeName, type StoredEvent } from '@rollcall/shared/events';
import type { LiveMessage } from './event-line.ts';

/** An event in the JSON format of CloudEvents 1.0; `sequence` is its place in the stream. */
export function cloudEvent(event: StoredEvent): object {
  const { epoch, previous, correlation, by, reason, message, section } = event;
  return {
    specversion: '1.0',
    id: event.eventId,
    source: event.source,
    type: eventTypeName(event.definition),
    subject: event.id,
    time: new Date(event.timeMs).toISOString(),
    datacontenttype: 'application/json',
    sequence: String(event.sequence),
    ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
    data: { epoch, previous, correlation, by, reason, message, section },
  };
}

/** The same form for what is heard and not stored, so that one reader takes both. */
export function liveCloudEvent({ clusterId, state, reason, atMs }: LiveMessage): object {
  return {
    specversion: '1.0',
    id: `live-${clusterId}-${atMs}`,
    source: '/rollcall/heartbeat',
    type: 'dev.rollcall.live.v1',
    subject: clusterId,
    time: new Date(atMs).toISOString(),
    datacontenttype: 'application/json',
    data: { state, reason },
  };
}

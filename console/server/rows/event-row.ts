import type { StoredEvent } from '@rollcall/shared/events';
import type { EventRow } from '../../rows/index.ts';

/** An event of the history in one row. */
export function eventRow(event: StoredEvent, name: string | undefined): EventRow {
  const { person, policy, rule } = event.by ?? {};
  return {
    sequence: event.sequence,
    epoch: event.epoch,
    atMs: event.timeMs,
    type: `${event.kind}.${event.type}`,
    id: event.id,
    ...(name === undefined ? {} : { name }),
    ...(person === undefined ? {} : { person }),
    ...(policy === undefined ? {} : { rule: rule === undefined ? policy : `${policy}/${rule}` }),
    writer: event.definition.writer,
    reason: event.reason,
    message: event.message,
  };
}

/** What the heartbeat service says and nobody stores. */
export interface HeardState {
  readonly clusterId: string;
  readonly state: string;
  readonly reason: string;
  readonly atMs: number;
}

/** What is only heard in the same row, without a place in the history. */
export function heardRow(heard: HeardState, name: string | undefined): EventRow {
  return {
    atMs: heard.atMs,
    type: `live.${heard.state}`,
    id: heard.clusterId,
    ...(name === undefined ? {} : { name }),
    writer: 'heartbeat',
    reason: heard.reason,
    message: '',
  };
}

import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateRecord,
  epochAggregate,
  type EpochRecord,
  epochRecord,
  foldRecord,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { EventLog, SkippedEvent } from './event-log.ts';

/** What an aggregate of the hub itself says to a version that may be older than its last writer. */
export interface HubAggregate {
  /** With the newest events of what this version can read, also where a newer one came after them. */
  readonly record: AggregateRecord;
  /** Events of a newer version, oldest first, where one of them is the last word of its writer; else empty. */
  readonly newer: readonly SkippedEvent[];
}

/**
 * Reads such an aggregate so that a newer version's event stops nobody who can go on without it (docs/upgrading.md): the reader
 * says what goes on. Only where there is such an event it reads more than `log.read` does: the history of the aggregate, because
 * the newest event of a type hides the one before it.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function readHubAggregate(
  log: Pick<EventLog, 'read' | 'scan'>,
  id: string,
): Promise<HubAggregate> {
  const aggregate = { kind: 'hub', id } as const;
  try {
    return { record: await log.read(aggregate), newer: [] };
  } catch (thrown) {
    if (!(thrown instanceof RollcallError) || thrown.code !== 'EVENT_VERSION_UNKNOWN') throw thrown;
  }
  const { head } = await log.read(aggregate, { unknownAsGarbage: true });
  const readable: StoredEvent[] = [];
  const newer: SkippedEvent[] = [];
  const onSkip = ({ code }: RollcallError, event: SkippedEvent) => {
    if (code === 'EVENT_VERSION_UNKNOWN') newer.push(event);
  };
  for await (const event of log.scan({ filter: `hub.${id}.*`, onSkip, isWhole: true })) readable.push(event);
  return { record: { ...foldRecord(aggregate, readable), head }, newer };
}

/** Of the hub's own epochs, by the newest words that this version can read. */
export async function readEpoch(log: Pick<EventLog, 'read' | 'scan'>): Promise<EpochRecord> {
  const { record, newer } = await readHubAggregate(log, epochAggregate.id);
  return epochRecord(record, newer);
}

import type { EventLog, OnSkip } from '@rollcall/shared/bus';
import { eventCatalogue, type StoredEvent } from '@rollcall/shared/events';

/** Neither says anything about a request or a decision that another event does not. */
const saysNothingMore = new Set(['cluster.admitted', 'cluster.returned']);

/**
 * Filters of the events that judgements follow from: requests, decisions, and what people declared. Without those about
 * liveness and access, which are most of a long history.
 */
export const decidingFilters: readonly string[] = eventCatalogue
  .filter(({ kind, type, writer }) => {
    if (kind === 'cluster')
      return (writer === 'registrar' || writer === 'approver') && !saysNothingMore.has(`cluster.${type}`);
    return kind === 'set' || kind === 'policy' || (kind === 'token' && writer === 'approver');
  })
  .map(({ kind, type }) => `${kind}.*.${type}`);

/** Reads events of several types in the order of the stream, from where it stopped the last time. */
export interface MergedScan {
  /** All events that came since the last call. Not to be called while an earlier one has not ended. */
  next(): AsyncIterable<StoredEvent>;
}

/** @param options.onSkip - is given what cannot be decoded */
export function mergedScan(
  log: Pick<EventLog, 'scan'>,
  options: { filters: readonly string[]; onSkip?: OnSkip },
): MergedScan {
  const { filters, onSkip = () => undefined } = options;
  const cursors = new Map(filters.map((filter) => [filter, 1]));
  return {
    next: () => readOn(cursors, (filter, fromSequence) => log.scan({ filter, fromSequence, onSkip })),
  };
}

/** @param cursors - the next sequence of each filter; moves on behind each event that was taken */
async function* readOn(
  cursors: Map<string, number>,
  readFrom: (filter: string, fromSequence: number) => AsyncIterable<StoredEvent>,
): AsyncGenerator<StoredEvent> {
  type Scan = { filter: string; events: AsyncIterator<StoredEvent>; first: StoredEvent };
  const scans = [...cursors].map(([filter, from]) => ({
    filter,
    events: readFrom(filter, from)[Symbol.asyncIterator](),
  }));
  const started = await Promise.all(
    scans.map(async ({ filter, events }) => ({ filter, events, result: await events.next() })),
  );
  let open: Scan[] = started.flatMap(({ filter, events, result }) =>
    result.done ? [] : [{ filter, events, first: result.value }],
  );
  while (open.length > 0) {
    let oldest = open[0] as Scan;
    for (const scan of open) if (scan.first.sequence < oldest.first.sequence) oldest = scan;
    yield oldest.first;
    cursors.set(oldest.filter, oldest.first.sequence + 1);
    const result = await oldest.events.next();
    if (result.done) open = open.filter((scan) => scan !== oldest);
    else oldest.first = result.value;
  }
}

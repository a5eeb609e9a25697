import { eventRow, type EventsPart } from '@rollcall/console';
import { streamSize } from '@rollcall/shared/bus';
import type { BusFlags } from '../events/bus-access.ts';
import { createClusterNames } from '../events/cluster-names.ts';
import { sequenceInLog } from '../events/sequence-since.ts';
import { withBus } from './with-bus-until.ts';

/** As many as somebody reads at once. */
const most = 200;

/** A part of the history, from a moment or a place on. */
export async function readEventsFrom(
  flags: BusFlags,
  from: { readonly atMs: number } | { readonly sequence: number },
): Promise<EventsPart> {
  return withBus(flags, async ({ nc, log }) => {
    const { lastSequence } = (await streamSize(nc, 'EVENTS')) ?? { lastSequence: 0 };
    const fromMs = 'atMs' in from ? from.atMs : 0;
    const fromSequence =
      'sequence' in from ? from.sequence : await sequenceInLog(log, { sinceMs: fromMs, lastSequence });
    const names = createClusterNames(log);
    const rows: EventsPart['rows'][number][] = [];
    for await (const event of log.scan({ fromSequence, onSkip: () => undefined })) {
      if (event.timeMs < fromMs) continue;
      if (rows.length === most) return { rows, next: event.sequence };
      rows.push(eventRow(event, await names.of(event)));
    }
    return { rows };
  });
}

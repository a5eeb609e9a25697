import { type DeadLetter, readDeadLetters } from '@rollcall/shared/bus';
import type { BusFlags } from '../events/bus-access.ts';
import { openBus } from '../events/open-bus.ts';
import { type EntryFormat, type EntryView, printEntries } from '../get/print-entries.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';

export interface DeadFlags extends BusFlags {
  readonly output: EntryFormat;
}

/** Subject of the event, without its head. */
export const eventOf = ({ subject }: Pick<DeadLetter, 'subject'>): string =>
  subject.replace(/^rollcall\.events\./, '');

const view: EntryView<DeadLetter> = {
  columns: [
    { name: 'Id' },
    { name: 'Time' },
    { name: 'Service' },
    { name: 'Event' },
    { name: 'State' },
    { name: 'Code' },
    { name: 'Tries', priority: 1 },
    { name: 'Message', priority: 1 },
  ],
  cells(letter) {
    const { id, atMs, service, code, deliveries, message, isHeld } = letter;
    const event = eventOf(letter);
    const state = isHeld ? 'held' : 'dead';
    return [String(id), new Date(atMs).toISOString(), service, event, state, code, deliveries, message];
  },
  nameOf: ({ id }) => String(id),
};

/**
 * `rollcall dead list`: events that a service could not handle. They are kept for 30 days, and those held for a newer
 * version until one has handled them.
 * @throws RollcallError HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function listDead(flags: DeadFlags): Promise<void> {
  const bus = await withProgress('connecting', openBus(flags));
  try {
    const letters = await withProgress('reading', readDeadLetters(bus.nc));
    printEntries(letters, flags.output, view);
    if (letters.length === 0) say('No dead letters.');
  } finally {
    await bus.nc.close();
  }
}

import { type DeadLetter, readDeadLetters } from '@rollcall/shared/bus';
import type { BusFlags } from '../events/bus-access.ts';
import { openBus } from '../events/open-bus.ts';
import { renderTable } from '../get/table.ts';
import { printResult, say } from '../output.ts';
import { printableJson } from '../printable.ts';
import { withProgress } from '../progress.ts';

export interface DeadFlags extends BusFlags {
  readonly output: 'table' | 'wide' | 'json';
}

const columnDefinitions = [
  { name: 'Id' },
  { name: 'Time' },
  { name: 'Service' },
  { name: 'Event' },
  { name: 'Code' },
  { name: 'Tries', priority: 1 },
  { name: 'Message', priority: 1 },
];

function rowOf({ id, atMs, service, subject, code, deliveries, message }: DeadLetter) {
  const event = subject.replace(/^rollcall\.events\./, '');
  return {
    cells: [String(id), new Date(atMs).toISOString(), service, event, code, deliveries, message],
    object: { metadata: { name: String(id) } },
  };
}

/**
 * `rollcall dead list`: events that a service could not handle; they are kept for 30 days.
 * @throws RollcallError HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function listDead(flags: DeadFlags): Promise<void> {
  const bus = await withProgress('connecting', openBus(flags));
  try {
    const letters = await withProgress('reading', readDeadLetters(bus.nc));
    if (flags.output === 'json') for (const letter of letters) printResult(printableJson(letter));
    else if (letters.length > 0) {
      const table = { columnDefinitions, rows: letters.map(rowOf) };
      printResult(renderTable(table, { wide: flags.output === 'wide', withNamespace: false }));
    }
    if (letters.length === 0) say('No dead letters.');
  } finally {
    await bus.nc.close();
  }
}

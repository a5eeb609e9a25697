import type { BusFlags } from '../events/bus-access.ts';
import { clusterIdOfTarget } from '../events/cluster-names.ts';
import { sinceMs } from '../events/event-filter.ts';
import { causeText } from '../events/event-line.ts';
import { type OpenBus, openBus, sayLeftOut } from '../events/open-bus.ts';
import { renderTable } from '../get/table.ts';
import { printResult, say } from '../output.ts';
import { printableJson } from '../printable.ts';
import { withProgress } from '../progress.ts';
import { type AuditEntry, auditEntry, type AuditFilter, newMemory } from './audit-entries.ts';

export interface AuditFlags extends BusFlags {
  readonly cluster?: string;
  readonly token?: string;
  readonly person?: string;
  readonly since?: string;
  readonly output: 'table' | 'wide' | 'json';
}

async function read({ log }: OpenBus, filter: AuditFilter): Promise<AuditEntry[]> {
  const memory = newMemory();
  const entries: AuditEntry[] = [];
  // Everything before `fromMs` is read too: it says names and tokens.
  for await (const event of log.scan({ onSkip: sayLeftOut })) {
    const entry = auditEntry(event, memory, filter);
    if (entry) entries.push(entry);
  }
  return entries;
}

function byWhom({ by }: AuditEntry): string {
  return causeText(by).replace(/^by /, '') || by?.service || '';
}

const columns = [
  { name: 'Time' },
  { name: 'What' },
  { name: 'About' },
  { name: 'By' },
  { name: 'Token', priority: 1 },
  { name: 'Reason' },
  { name: 'Message', priority: 1 },
];

function table(entries: readonly AuditEntry[], isWide: boolean): string {
  const rows = entries.map((entry) => ({
    cells: [entry.at, entry.what, entry.about, byWhom(entry), entry.token, entry.reason, entry.message],
    object: { metadata: { name: entry.about } },
  }));
  return renderTable({ columnDefinitions: columns, rows }, { wide: isWide, withNamespace: false });
}

/**
 * `rollcall audit`: who was trusted or put out, by whom, and why; oldest first.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function audit(flags: AuditFlags): Promise<void> {
  const fromMs = flags.since === undefined ? undefined : sinceMs(flags.since, Date.now());
  const bus = await withProgress('connecting', openBus(flags));
  try {
    const clusterId =
      flags.cluster === undefined ? undefined : await clusterIdOfTarget(bus.log, flags.cluster);
    const filter = { clusterId, token: flags.token, person: flags.person, fromMs };
    const entries = await withProgress('reading the history', read(bus, filter));
    if (flags.output === 'json') for (const entry of entries) printResult(printableJson(entry));
    else if (entries.length > 0) printResult(table(entries, flags.output === 'wide'));
    if (entries.length === 0) say('No decisions found.');
  } finally {
    await bus.nc.close();
  }
}

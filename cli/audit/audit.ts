import type { BusFlags } from '../events/bus-access.ts';
import { sayLost } from '../events/say-lost.ts';
import { clusterIdOfTarget } from '../events/cluster-names.ts';
import { sinceMs } from '../terminal/point-in-time.ts';
import { causeText } from '../events/event-line.ts';
import { type OpenBus, openBus, sayLeftOut } from '../events/open-bus.ts';
import { sayArchived } from '../events/say-archived.ts';
import { type EntryFormat, type EntryView, printEntries } from '../get/print-entries.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { type AuditEntry, auditEntry, type AuditFilter, newMemory } from './audit-entries.ts';
import { fingerprintOf } from './keys-in-event.ts';

export interface AuditFlags extends BusFlags {
  readonly cluster?: string;
  readonly token?: string;
  readonly person?: string;
  readonly key?: string;
  readonly since?: string;
  readonly output: EntryFormat;
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
  return causeText(by).replace(/^by /, '') || by.service || '';
}

const view: EntryView<AuditEntry> = {
  columns: [
    { name: 'Time' },
    { name: 'What' },
    { name: 'About' },
    { name: 'By' },
    { name: 'Token', priority: 1 },
    { name: 'Keys', priority: 1 },
    { name: 'From', priority: 1 },
    { name: 'Reason' },
    { name: 'Message', priority: 1 },
  ],
  cells: (entry) => [
    entry.at,
    entry.what,
    entry.about,
    byWhom(entry),
    entry.token,
    entry.keys.join(' '),
    entry.source,
    entry.reason,
    entry.message,
  ],
  nameOf: ({ what, about }) => `${what.slice(0, what.indexOf('.'))}/${about}`,
};

/**
 * `rollcall audit`: who was trusted or put out, by whom, and why; oldest first.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function audit(flags: AuditFlags): Promise<void> {
  const fromMs = flags.since === undefined ? undefined : sinceMs(flags.since, Date.now());
  const key = flags.key === undefined ? undefined : fingerprintOf(flags.key);
  const bus = await withProgress('connecting', openBus(flags));
  try {
    await sayLost(bus.nc);
    const clusterId =
      flags.cluster === undefined ? undefined : await clusterIdOfTarget(bus.log, flags.cluster);
    const filter = { clusterId, token: flags.token, person: flags.person, key, fromMs };
    const entries = await withProgress('reading the history', read(bus, filter));
    printEntries(entries, flags.output, view);
    if (entries.length === 0) say('No decisions found.');
    await sayArchived(bus.nc, 1);
  } finally {
    await bus.nc.close();
  }
}

import { openEventLog, openFactStore, readEpoch } from '@rollcall/shared/bus';
import { documentText, type DocumentFormat } from '../terminal/document-text.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { sayLost } from '../events/say-lost.ts';
import { exitCodes } from '../exit-code.ts';
import { printResult } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { askServices, figureOf } from '../status/ask-services.ts';
import { checkHistory } from './check-history.ts';
import { checkProjections, readProjections } from './check-projections.ts';
import type { Finding } from './finding.ts';
import { type HubToRead, openHubToRead } from './hub-to-read.ts';

export interface VerifyFlags extends BusFlags {
  readonly keys?: string;
  readonly output: DocumentFormat | 'text';
  /** Files of `rollcall history archive`. */
  readonly archive?: readonly string[];
}

export interface VerifyReport {
  readonly epoch: number;
  readonly events: number;
  readonly lastSequence: number;
  /** How many events are only in archives that were not given. */
  readonly archived: number;
  readonly witnesses: number;
  /** How many objects of each kind were compared with the events. */
  readonly compared: Readonly<Record<'clusters' | 'requests' | 'tokens' | 'policies' | 'sets', number>>;
  readonly findings: readonly Finding[];
}

/**
 * Checks that nothing is missing or changed: each event follows the one it names, every status names an event that is there,
 * and Kubernetes shows what the events say.
 * @param archives - files that are read as parts of the history
 * @throws RollcallError BUS_UNREACHABLE, KUBE_UNREACHABLE, BACKUP_INVALID
 */
export async function verifyHub(
  { nc, client }: HubToRead,
  archives: readonly string[] = [],
): Promise<VerifyReport> {
  // Of whichever epoch the history has come to: who reads it from elsewhere knows no other.
  const log = await openEventLog(nc, { epoch: 1, source: '/rollcall/cli' });
  const { restored } = await readEpoch(log);
  const epoch = restored?.epoch ?? 1;
  const { witnesses, clusters, requests, tokens, policies, sets } = await readProjections(client);
  const history = await checkHistory(nc, { witnesses, archives }, { epoch, restored });
  const isExceptionsOnly = figureOf(await askServices(nc), 'projector', 'isExceptionsOnly') === 1;
  const projections = await checkProjections(client, { log, facts: openFactStore(nc), isExceptionsOnly });
  const { events, lastSequence, archived } = history;
  const compared = {
    clusters: clusters.length,
    requests: requests.length,
    tokens: tokens.length,
    policies: policies.length,
    sets: sets.length,
  };
  const findings = [...history.findings, ...projections];
  return { epoch, events, lastSequence, archived, witnesses: witnesses.length, compared, findings };
}

/** For people: what was found stands together by its kind, with how many there are of each. */
export function asText({ epoch, events, archived, witnesses, compared, findings }: VerifyReport): string {
  const objects = Object.entries(compared).map(([kind, count]) => `${kind} ${count}`);
  const elsewhere = archived > 0 ? `, ${archived} more in archives (--archive FILE reads them)` : '';
  const all = `${events} events of epoch ${epoch} and before${elsewhere}; objects compared: ${objects.join(', ')}; ${witnesses} of them name an event`;
  if (findings.length === 0)
    return `${all}: the chain is whole, every witness true, and Kubernetes shows what the events say`;
  const kinds = [...Map.groupBy(findings, ({ code }) => code)];
  const counts = kinds.map(([code, found]) => `${code} ${found.length}`).join(', ');
  const lines = kinds.flatMap(([code, found]) => [
    ...found.map(({ about, message }) => `${code}  ${printable(about)}: ${printable(message)}`),
    `    ${found[0]?.hint ?? ''}`,
  ]);
  return [`${all}: ${findings.length} finding(s): ${counts}`, ...lines].join('\n');
}

export async function verify(flags: VerifyFlags): Promise<void> {
  const hub = await openHubToRead(flags);
  try {
    await sayLost(hub.nc);
    const report = await withProgress('reading the history', verifyHub(hub, flags.archive));
    printResult(flags.output === 'text' ? asText(report) : documentText(report, flags.output));
    if (report.findings.length > 0) process.exitCode = exitCodes.failed;
  } finally {
    await hub.close();
  }
}

import { RollcallError } from '@rollcall/shared/errors';
import type { ClusterRow } from '@rollcall/shared/fleet/cluster-row';
import { readPastFleet } from '@rollcall/shared/fleet/past-fleet';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { sinceMs } from '../terminal/point-in-time.ts';
import { openBus, sayLeftOut } from '../events/open-bus.ts';
import { sayArchived } from '../events/say-archived.ts';
import { sayLost } from '../events/say-lost.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import type { GetFlags } from './get.ts';
import { resourceOfName } from './kind-names.ts';
import { type EntryView, printEntries } from './print-entries.ts';
import { clusterSelection, looksAtServers } from './select-clusters.ts';

const view: EntryView<ClusterRow> = {
  columns: [
    { name: 'Name' },
    { name: 'State' },
    { name: 'Reason' },
    { name: 'Since' },
    { name: 'Set' },
    { name: 'Cluster ID', priority: 1 },
  ],
  cells: ({ name, state, reason, sinceMs: atMs, set, id }) => [
    name,
    state,
    reason,
    new Date(atMs).toISOString(),
    set,
    id,
  ],
  nameOf: ({ name }) => name,
};

/**
 * Reads `--at`.
 * @throws RollcallError USAGE: no time, or one that is still to come
 */
export function momentOf(text: string, nowMs: number): number {
  const atMs = sinceMs(text, nowMs, '--at');
  if (atMs <= nowMs) return atMs;
  throw new RollcallError('USAGE', `--at "${text}" is still to come`);
}

/**
 * `rollcall get clusters --at WHEN`: the fleet as it was, by the history alone. What only Kubernetes knows of a cluster (its version,
 * labels that people gave its object) is not in it.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING, BUS_UNREACHABLE
 */
export async function getPast(
  kind: string,
  names: readonly string[],
  flags: GetFlags & { readonly at: string },
): Promise<void> {
  if (resourceOfName(kind) !== resources.managedClusters)
    throw new RollcallError('USAGE', '--at is for clusters');
  if (flags.watch || flags.selector !== undefined || flags.version !== undefined)
    throw new RollcallError(
      'USAGE',
      '--at takes names, --state, --set, --since, --filter and --sort-by only',
    );
  if (looksAtServers(flags))
    throw new RollcallError(
      'USAGE',
      'which server an agent was connected to is kept nowhere: --at knows none',
    );
  const atMs = momentOf(flags.at, Date.now());
  const select = clusterSelection(flags, atMs);
  const { nc, log } = await withProgress('connecting', openBus(flags));
  try {
    await sayLost(nc);
    const moment = new Date(atMs).toISOString();
    const reading = readPastFleet(log, { atMs, onSkip: sayLeftOut });
    const { clusters: all, policies } = await withProgress(`reading the history up to ${moment}`, reading);
    await sayArchived(nc, 1);
    const isNamed = ({ name, id }: ClusterRow) =>
      names.length === 0 || names.includes(name) || (id !== undefined && names.includes(id));
    const missing = names.find((word) => !all.some(({ name, id }) => name === word || id === word));
    if (missing !== undefined)
      throw new RollcallError('NOT_FOUND', `at ${moment} no cluster had the id or the name "${missing}"`);
    const ofSet = all.filter(({ set }) => flags.set === undefined || set === flags.set);
    const rows = select(ofSet.filter(isNamed));
    if (rows.length === 0) say(`No clusters at ${moment}.`);
    else printEntries(rows, flags.output, view);
    say(`Policies then: ${policies.length === 0 ? 'none' : policies.join(', ')}.`);
  } finally {
    await nc.close();
  }
}

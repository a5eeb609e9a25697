import { RollcallError } from '@rollcall/shared/errors';
import { clusterStates, type ClusterRow } from '@rollcall/shared/fleet/cluster-row';
import { clusterFilter, wordsOf } from '@rollcall/shared/fleet/filter-clusters';
import { clusterRow } from '@rollcall/shared/fleet/read-cluster';
import { sortClusters, sortKeys } from '@rollcall/shared/fleet/sort-clusters';
import { labels } from '@rollcall/shared/resources/names';
import { sinceMs } from '../terminal/point-in-time.ts';
import type { ShownObject } from './object-text.ts';

/** Which clusters are shown, in the words that the console filters by. */
export interface SelectFlags {
  readonly selector?: string;
  readonly set?: string;
  readonly state?: readonly string[];
  readonly version?: string;
  readonly since?: string;
  /** As the console's filter. */
  readonly filter?: string;
  readonly sortBy?: string;
}

const perObject = ['state', 'version', 'since', 'filter', 'sortBy'] as const;

/** Whether that takes the whole objects: the API server selects by labels alone. */
export const looksAtObjects = (flags: SelectFlags): boolean =>
  perObject.some((name) => flags[name] !== undefined);

/** Whether it takes to know where agents are connected, which no object says. */
export const looksAtServers = ({ filter = '', sortBy }: SelectFlags): boolean =>
  sortBy?.replace(/^-/, '') === 'server' || wordsOf(filter).some((word) => /^server:/i.test(word));

/** What the API server selects by; empty: everything. */
export function labelSelectorOf({ selector, set }: SelectFlags): string {
  return [
    ...(selector === undefined ? [] : [selector]),
    ...(set === undefined ? [] : [`${labels.clusterSet}=${set}`]),
  ].join(',');
}

function statesOf({ state }: SelectFlags): ReadonlySet<string> | undefined {
  if (state === undefined) return undefined;
  const wanted = state.flatMap((text) => text.split(','));
  return new Set(
    wanted.map((text) => {
      const known = clusterStates.find((one) => one.toLowerCase() === text.trim().toLowerCase());
      if (known) return known;
      throw new RollcallError('USAGE', `--state "${text}" is none of ${clusterStates.join(', ')}`);
    }),
  );
}

function sortOf({ sortBy }: SelectFlags): string | undefined {
  const key = sortBy?.replace(/^-/, '');
  if (key === undefined || sortKeys.some((one) => one === key)) return sortBy;
  throw new RollcallError(
    'USAGE',
    `--sort-by "${sortBy}" is none of ${sortKeys.join(', ')}; -${sortKeys[0]} is the other way round`,
  );
}

/**
 * Reads the flags.
 * @param nowMs - for `--since`: who has been in their state since then at the earliest
 * @returns what chooses and sorts what was read
 * @throws RollcallError USAGE
 */
export function clusterSelection(
  flags: SelectFlags,
  nowMs: number,
): (rows: readonly ClusterRow[]) => readonly ClusterRow[] {
  const states = statesOf(flags);
  const sort = sortOf(flags);
  const fromMs = flags.since === undefined ? undefined : sinceMs(flags.since, nowMs);
  const ofVersion = clusterFilter(flags.version === undefined ? '' : `version:${flags.version}`);
  const byWords = clusterFilter(flags.filter ?? '');
  const isWanted = (row: ClusterRow) =>
    (states?.has(row.state) ?? true) &&
    (fromMs === undefined || row.sinceMs >= fromMs) &&
    ofVersion.matches(row) &&
    byWords.matches(row);
  return (rows) => {
    const wanted = rows.filter(isWanted);
    return sort === undefined ? wanted : sortClusters(wanted, sort);
  };
}

/**
 * The same for what holds a ManagedCluster.
 * @param serversOf - where the agents of these ids are connected
 */
export async function selectObjects<Item>(
  items: readonly Item[],
  objectOf: (item: Item) => ShownObject,
  how: {
    select: ReturnType<typeof clusterSelection>;
    serversOf: ((ids: readonly string[]) => Promise<ReadonlyMap<string, string>>) | undefined;
  },
): Promise<Item[]> {
  const rows = items.map((item) => clusterRow(objectOf(item) as Parameters<typeof clusterRow>[0]));
  const servers = await how.serversOf?.(rows.flatMap(({ id }) => id ?? []));
  const itemOf = new Map<ClusterRow, Item>();
  for (const [index, item] of items.entries()) {
    const row = rows[index]!;
    const server = servers?.get(row.id ?? '');
    itemOf.set(server === undefined ? row : { ...row, server }, item);
  }
  return how.select([...itemOf.keys()]).flatMap((row) => itemOf.get(row) ?? []);
}

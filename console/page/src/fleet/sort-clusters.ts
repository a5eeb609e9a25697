import { type ClusterRow, clusterStates } from '../../../rows.ts';

export const sortKeys = ['cluster', 'state', 'since', 'set', 'version', 'nodes'] as const;
export type SortKey = (typeof sortKeys)[number];

/** What is wrong comes first. */
const urgency: Readonly<Record<ClusterRow['state'], number>> = {
  notReady: 0,
  unknown: 1,
  expected: 2,
  out: 3,
  ready: 4,
};

const compareText = (one = '', other = ''): number => (one < other ? -1 : one > other ? 1 : 0);

type Compare = (one: ClusterRow, other: ClusterRow) => number;
const comparisons: Readonly<Partial<Record<SortKey, Compare>>> = {
  since: (one, other) => other.sinceMs - one.sinceMs,
  nodes: (one, other) => (other.nodes?.[1] ?? -1) - (one.nodes?.[1] ?? -1),
};
/** Values that many clusters share: with a heap for each value a large fleet is sorted in one pass. */
const heaps: Readonly<Partial<Record<SortKey, (row: ClusterRow) => string>>> = {
  state: ({ state }) => String(urgency[state]),
  set: ({ set = '' }) => set,
  version: ({ version = '' }) => version,
};

function sortInHeaps(rows: readonly ClusterRow[], heapOf: (row: ClusterRow) => string, isReversed: boolean) {
  const sorted = [...Map.groupBy(rows, heapOf)].toSorted(([one], [other]) => compareText(one, other));
  return (isReversed ? sorted.toReversed() : sorted).flatMap(([, heap]) => heap);
}

/**
 * @param rows - by name; rows that are the same to the key stay so
 * @param sort - a key, with `-` before it the other way round
 */
export function sortClusters(rows: readonly ClusterRow[], sort: string): readonly ClusterRow[] {
  const isReversed = sort.startsWith('-');
  const key = sort.replace(/^-/, '') as SortKey;
  if (key === 'cluster') return isReversed ? rows.toReversed() : rows;
  const compare = comparisons[key];
  if (compare) return rows.toSorted(isReversed ? (one, other) => compare(other, one) : compare);
  return sortInHeaps(rows, heaps[key] ?? (({ state }) => String(urgency[state])), isReversed);
}

/** As many as tell which labels are shared. */
const mostLookedAt = 2000;

/** Of all clusters, to choose from: sets, states, versions, and labels that several share. */
export function groupingsOf(rows: readonly ClusterRow[]): string[] {
  const labels = new Map<string, number>();
  const step = Math.max(1, Math.floor(rows.length / mostLookedAt));
  const some = rows.filter((_, index) => index % step === 0);
  for (const row of some)
    for (const key of Object.keys(row.labels ?? {})) labels.set(key, (labels.get(key) ?? 0) + 1);
  const shared = [...labels].filter(([, count]) => count > 1).toSorted(([, one], [, other]) => other - one);
  return ['set', 'state', 'version', ...shared.slice(0, 5).map(([key]) => `label ${key}`)];
}

function groupOf(row: ClusterRow, by: string): string {
  if (by === 'state') return String(clusterStates.indexOf(row.state));
  if (by === 'version') return row.version ?? '';
  return by.startsWith('label ') ? (row.labels?.[by.slice(6)] ?? '') : (row.set ?? '');
}

export interface Group {
  readonly name: string;
  readonly rows: readonly ClusterRow[];
}

/** More than this nobody tells apart. */
const mostGroups = 16;

/** The largest first; what has no value comes last, and what is too much together. */
export function groupClusters(
  rows: readonly ClusterRow[],
  by: string,
  nameOf: (key: string) => string,
): Group[] {
  const groups = Map.groupBy(rows, (row) => groupOf(row, by));
  const sorted = [...groups].toSorted(
    ([one, rowsOfOne], [other, rowsOfOther]) =>
      Number(one === '') - Number(other === '') ||
      rowsOfOther.length - rowsOfOne.length ||
      compareText(one, other),
  );
  const shown = sorted.length > mostGroups ? sorted.slice(0, mostGroups - 1) : sorted;
  const rest = sorted.slice(shown.length);
  return [
    ...shown.map(([key, own]) => ({ name: nameOf(key), rows: own })),
    ...(rest.length === 0 ? [] : [{ name: `${rest.length} more`, rows: rest.flatMap(([, own]) => own) }]),
  ];
}

import type { ClusterRow } from './cluster-row.ts';
import { complete, groupedBy, sortedBy, type Steps } from './work-in-steps.ts';

export const sortKeys = ['cluster', 'state', 'since', 'set', 'server', 'version', 'nodes'] as const;
export type SortKey = (typeof sortKeys)[number];

/** What is wrong comes first. */
const urgency: Readonly<Record<ClusterRow['state'], number>> = {
  notReady: 0,
  unknown: 1,
  expected: 2,
  out: 3,
  ready: 4,
};

/** For names and keys: by code, the same everywhere. */
export const compareText = (one = '', other = ''): number => (one < other ? -1 : one > other ? 1 : 0);

type Compare = (one: ClusterRow, other: ClusterRow) => number;
const comparisons: Readonly<Partial<Record<SortKey, Compare>>> = {
  since: (one, other) => other.sinceMs - one.sinceMs,
  nodes: (one, other) => (other.nodes?.[1] ?? -1) - (one.nodes?.[1] ?? -1),
};
/** Values that many clusters share: with a heap for each value a large fleet is sorted in one pass. */
const heaps: Readonly<Partial<Record<SortKey, (row: ClusterRow) => string>>> = {
  state: ({ state }) => String(urgency[state]),
  set: ({ set = '' }) => set,
  server: ({ server = '' }) => server,
  version: ({ version = '' }) => version,
};

function* sortInHeaps(
  rows: readonly ClusterRow[],
  heapOf: (row: ClusterRow) => string,
  isReversed: boolean,
): Steps<readonly ClusterRow[]> {
  const groups = yield* groupedBy(rows, heapOf);
  const sorted = [...groups].toSorted(([one], [other]) => compareText(one, other));
  return (isReversed ? sorted.toReversed() : sorted).flatMap(([, heap]) => heap);
}

/**
 * @param rows - by name; rows that are the same to the key stay so
 * @param sort - a key, with `-` before it the other way round
 */
export function* sortingClusters(rows: readonly ClusterRow[], sort: string): Steps<readonly ClusterRow[]> {
  const isReversed = sort.startsWith('-');
  const key = sort.replace(/^-/, '') as SortKey;
  if (key === 'cluster') return isReversed ? rows.toReversed() : rows;
  const compare = comparisons[key];
  if (compare) return yield* sortedBy(rows, isReversed ? (one, other) => compare(other, one) : compare);
  return yield* sortInHeaps(rows, heaps[key] ?? (({ state }) => String(urgency[state])), isReversed);
}

/** The same at once. */
export const sortClusters = (rows: readonly ClusterRow[], sort: string): readonly ClusterRow[] =>
  complete(sortingClusters(rows, sort));

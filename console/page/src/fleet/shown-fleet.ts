import { clusterFilter, noneInAnyState } from '@rollcall/shared/fleet/filter-clusters';
import { sortingClusters } from '@rollcall/shared/fleet/sort-clusters';
import { eachOf, type Steps } from '@rollcall/shared/fleet/work-in-steps';
import type { ClusterRow, ClusterState } from '../../../rows/index.ts';
import { type Group, groupClusters, groupingsOf } from './group-clusters.ts';

/** What the person wants to see of the fleet. */
export interface FleetChoice {
  /** The moment that is looked at, as the URL has it; empty: now. */
  readonly at: string;
  readonly query: string;
  readonly by: string;
  readonly sort: string;
}

/** Everything that the view shows of all rows. */
export interface ShownFleet {
  readonly total: number;
  readonly counts: Readonly<Record<ClusterState, number>>;
  /** Of those that are expected, how many wait for a person. */
  readonly asking: number;
  /** Who is not Ready. */
  readonly others: readonly ClusterRow[];
  readonly foundReady: number;
  /** What the filter leaves, in its order. */
  readonly found: readonly ClusterRow[];
  readonly groups: readonly WallGroup[];
  readonly groupings: readonly string[];
}

export const nothingShown: ShownFleet = {
  total: 0,
  counts: noneInAnyState(),
  asking: 0,
  others: [],
  foundReady: 0,
  found: [],
  groups: [],
  groupings: groupingsOf([]),
};

export interface WallGroup extends Group {
  readonly ready: number;
}

const isReady = ({ state }: ClusterRow): boolean => state === 'ready';

function* countReady(rows: readonly ClusterRow[]): Steps<number> {
  let ready = 0;
  yield* eachOf(rows, (row) => {
    if (isReady(row)) ready++;
  });
  return ready;
}

export function* showFleet(rows: readonly ClusterRow[], { query, by, sort }: FleetChoice): Steps<ShownFleet> {
  const counts = noneInAnyState();
  const others: ClusterRow[] = [];
  let asking = 0;
  yield* eachOf(rows, (row) => {
    counts[row.state]++;
    if (row.isWaiting) asking++;
    if (!isReady(row)) others.push(row);
  });
  let left = rows;
  if (query !== '') {
    const filter = clusterFilter(query);
    const fitting: ClusterRow[] = [];
    yield* eachOf(rows, (row) => {
      if (filter.matches(row)) fitting.push(row);
    });
    left = fitting;
  }
  const groups: WallGroup[] = [];
  for (const group of yield* groupClusters(left, by))
    groups.push({ ...group, ready: yield* countReady(group.rows) });
  return {
    total: rows.length,
    counts: { ...counts, expected: counts.expected - asking },
    asking,
    others,
    foundReady: groups.reduce((sum, { ready }) => sum + ready, 0),
    found: yield* sortingClusters(left, sort),
    groups,
    groupings: groupingsOf(rows),
  };
}

import { compareText } from '@rollcall/shared/fleet/sort-clusters';
import { groupedBy, type Steps } from '@rollcall/shared/fleet/work-in-steps';
import { type ClusterRow, clusterStates } from '../../../rows/index.ts';
import { stateWords } from '../parts/state-words.ts';
import { waitingWords } from './row-words.ts';

/** As many as tell which labels are shared. */
const mostLookedAt = 2000;

/** Of all clusters, to choose from: sets, states, servers, versions, and labels that several share. */
export function groupingsOf(rows: readonly ClusterRow[]): string[] {
  const labels = new Map<string, number>();
  const step = Math.max(1, Math.floor(rows.length / mostLookedAt));
  for (let index = 0; index < rows.length; index += step)
    for (const key of Object.keys(rows[index]?.labels ?? {})) labels.set(key, (labels.get(key) ?? 0) + 1);
  const shared = [...labels].filter(([, count]) => count > 1).toSorted(([, one], [, other]) => other - one);
  return ['set', 'state', 'server', 'version', ...shared.slice(0, 5).map(([key]) => `label ${key}`)];
}

/** Of those that ask, among the states. */
const waitingGroup = 'waiting';

function groupOf(row: ClusterRow, by: string): string {
  if (by === 'state') return row.isWaiting ? waitingGroup : String(clusterStates.indexOf(row.state));
  if (by === 'version') return row.version ?? '';
  if (by === 'server') return row.server ?? '';
  return by.startsWith('label ') ? (row.labels?.[by.slice(6)] ?? '') : (row.set ?? '');
}

function nameOfGroup(key: string, by: string): string {
  if (key === '') return by === 'server' ? 'server not known' : `no ${by.replace('label ', '')}`;
  if (by !== 'state') return key;
  return key === waitingGroup ? waitingWords : stateWords[clusterStates[Number(key)] ?? 'out'];
}

export interface Group {
  readonly name: string;
  readonly rows: readonly ClusterRow[];
}

/** More than this nobody tells apart. */
const mostGroups = 16;

/** The largest first; what has no value comes last, and what is too much together. */
export function* groupClusters(rows: readonly ClusterRow[], by: string): Steps<Group[]> {
  const groups = yield* groupedBy(rows, (row) => groupOf(row, by));
  const sorted = [...groups].toSorted(
    ([one, rowsOfOne], [other, rowsOfOther]) =>
      Number(one === '') - Number(other === '') ||
      rowsOfOther.length - rowsOfOne.length ||
      compareText(one, other),
  );
  const shown = sorted.length > mostGroups ? sorted.slice(0, mostGroups - 1) : sorted;
  const rest = sorted.slice(shown.length);
  return [
    ...shown.map(([key, own]) => ({ name: nameOfGroup(key, by), rows: own })),
    ...(rest.length === 0 ? [] : [{ name: `${rest.length} more`, rows: rest.flatMap(([, own]) => own) }]),
  ];
}

import { complete } from '@rollcall/shared/fleet/work-in-steps';
import { expect, test } from 'vitest';
import type { ClusterRow } from '../../../rows/index.ts';
import { groupClusters, groupingsOf } from './group-clusters.ts';

const row = (name: string, more: Partial<ClusterRow> = {}): ClusterRow => ({
  name,
  state: 'ready',
  reason: 'Alive',
  sinceMs: 0,
  ...more,
});
const rows = [
  row('a', { server: 'hub-1', set: 'shops', labels: { region: 'eu', one: '1' } }),
  row('b', { server: 'hub-2', set: 'shops', labels: { region: 'us' } }),
  row('c', { server: 'hub-2', version: 'v1.36.3' }),
  row('d', { state: 'expected', isWaiting: true }),
];

test.each([
  { by: 'server', want: { 'hub-2': ['b', 'c'], 'hub-1': ['a'], 'server not known': ['d'] } },
  { by: 'set', want: { shops: ['a', 'b'], 'no set': ['c', 'd'] } },
  { by: 'version', want: { 'v1.36.3': ['c'], 'no version': ['a', 'b', 'd'] } },
  { by: 'label region', want: { eu: ['a'], us: ['b'], 'no region': ['c', 'd'] } },
  { by: 'state', want: { Ready: ['a', 'b', 'c'], 'Waiting for a person': ['d'] } },
])('by $by: the largest first, what has none last', ({ by, want }) => {
  const groups = complete(groupClusters(rows, by));
  expect(groups.map(({ name, rows: own }) => [name, own.map((one) => one.name)])).toEqual(
    Object.entries(want),
  );
});

test('one groups by what the hub knows, and by labels that several share', () => {
  expect(groupingsOf(rows)).toEqual(['set', 'state', 'server', 'version', 'label region']);
});

test('more groups than anybody tells apart stand together', () => {
  const many = Array.from({ length: 40 }, (_, index) => row(`c${index}`, { set: `set-${index}` }));
  const groups = complete(groupClusters(many, 'set'));
  expect(groups).toHaveLength(16);
  expect(groups.at(-1)).toMatchObject({ name: '25 more', rows: { length: 25 } });
});

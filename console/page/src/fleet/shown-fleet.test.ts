import { complete } from '@rollcall/shared/fleet/work-in-steps';
import { expect, test } from 'vitest';
import { type ClusterRow, clusterStates } from '../../../rows/index.ts';
import { showFleet } from './shown-fleet.ts';

const rows: readonly ClusterRow[] = Array.from({ length: 5000 }, (_, index) => ({
  name: `c${String(index).padStart(4, '0')}`,
  state: clusterStates[index % clusterStates.length] ?? 'ready',
  reason: 'Said',
  sinceMs: index % 97,
  set: `set-${index % 3}`,
  ...(index % 10 === 3 ? { isWaiting: true as const } : {}),
}));
const choice = { at: '', query: '', by: 'set', sort: '-since' };

test('a view counts all, whatever the filter leaves, and sorts and groups what it leaves', () => {
  const view = complete(showFleet(rows, { ...choice, query: 'set:set-1 state:ready' }));
  const left = rows.filter(({ set, state }) => set === 'set-1' && state === 'ready');
  expect(view).toMatchObject({
    total: 5000,
    counts: { ready: 1000, unknown: 1000, notReady: 1000, expected: 500, out: 1000 },
    asking: 500,
    foundReady: left.length,
    groups: [{ name: 'set-1', ready: left.length, rows: left }],
  });
  expect(view.others).toEqual(rows.filter(({ state }) => state !== 'ready'));
  expect(view.found).toEqual(left.toSorted((one, other) => one.sinceMs - other.sinceMs));
});

test('without a filter nothing is left out', () => {
  const { found, groups, foundReady } = complete(showFleet(rows, choice));
  expect([found.length, groups.length, foundReady]).toEqual([5000, 3, 1000]);
});

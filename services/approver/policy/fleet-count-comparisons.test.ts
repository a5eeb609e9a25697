import { expect, test } from 'vitest';
import { areCountsAlike, countComparisons } from './fleet-count-comparisons.ts';
import { createPolicyEnvironment } from './policy-environment.ts';

const environment = createPolicyEnvironment();

test.each([
  { when: 'fleet.clusters < 5', want: ['clusters 5'] },
  { when: '5 <= fleet.bySet["edge"] && fleet.bySet.edge != 7', want: ['bySet.edge 5', 'bySet.edge 7'] },
  { when: 'request.clusterName == "fleet"', want: [] },
  { when: 'claimed.nodes < 3', want: [] },
  { when: 'fleet.clusters <', want: [] },
  { when: 'fleet.clusters + 1 < 5', want: undefined },
  { when: 'fleet.clusters < fleet.pending', want: undefined },
  { when: 'fleet.bySet[request.clusterName] < 2', want: undefined },
  { when: '"edge" in fleet.bySet', want: undefined },
  { when: 'has(fleet.bySet.edge)', want: undefined },
  { when: 'cel.bind(f, fleet, f.clusters < 5)', want: undefined },
  { when: 'fleet.clusters < -1', want: undefined },
  { when: 'fleet.clusters < 5.0', want: undefined },
])('$when compares $want', ({ when, want }) => {
  const found = countComparisons(environment, ['true', when]);
  expect(found?.map(({ path, number }) => `${path.join('.')} ${number}`)).toEqual(want);
});

const counts = { clusters: 4, pending: 0, approvedToday: 0, bySet: { edge: 1 }, byPolicyToday: {} };
test.each([
  { path: ['clusters'], number: 5n, other: { ...counts, clusters: 3 }, want: true },
  { path: ['clusters'], number: 4n, other: { ...counts, clusters: 3 }, want: false },
  { path: ['clusters'], number: 3n, other: { ...counts, clusters: 3 }, want: false },
  { path: ['clusters'], number: 2n ** 60n, other: { ...counts, clusters: 9 }, want: true },
  { path: ['bySet', 'edge'], number: 9n, other: { ...counts, bySet: {} }, want: false },
  { path: ['bySet', 'none'], number: 9n, other: { ...counts, bySet: {} }, want: true },
  { path: ['bySet', 'constructor'], number: 9n, other: { ...counts, bySet: {} }, want: true },
])('$path, compared with $number: alike is $want', ({ path, number, other, want }) => {
  expect(areCountsAlike([{ path, number }], counts, other)).toBe(want);
});

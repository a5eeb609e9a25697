import { expect, test } from 'vitest';
import type { ClusterRow } from './cluster-row.ts';
import { clusterFilter, withWord } from './filter-clusters.ts';

const row: ClusterRow = {
  name: 'shop-0413',
  id: 'f80d0352',
  state: 'notReady',
  reason: 'Unreachable',
  message: 'no heartbeat for the whole grace',
  sinceMs: 0,
  set: 'shops',
  server: 'hub-1',
  version: 'v1.36.3',
  labels: { region: 'eu-west' },
  isCordoned: true,
};

test.each([
  { query: '' },
  { query: 'SHOP' },
  { query: 'f80d' },
  { query: 'whole grace' },
  { query: 'set:shops state:notready' },
  { query: 'version:v1.36' },
  { query: 'server:HUB-1' },
  { query: 'reason:unreachable' },
  { query: 'region=eu-west' },
  { query: 'is:cordoned 0413' },
])('"$query" finds it', ({ query }) => {
  expect(clusterFilter(query).matches(row)).toBe(true);
});

test.each([
  { query: 'edge' },
  { query: 'set:shop' },
  { query: 'server:hub-10' },
  { query: 'set:shops state:ready' },
  { query: 'region=eu' },
  { query: 'colour:red' },
])('"$query" does not', ({ query }) => {
  expect(clusterFilter(query).matches(row)).toBe(false);
});

test.each([
  { name: 'added', query: 'edge', word: 'state:ready', want: 'edge state:ready' },
  { name: 'taken out', query: 'edge state:ready', word: 'state:ready', want: 'edge' },
  {
    name: 'in place of another state',
    query: 'state:out edge',
    word: 'state:ready',
    want: 'edge state:ready',
  },
])('a word is $name', ({ query, word, want }) => {
  expect(withWord(query, word)).toBe(want);
});

test('a word with the name of something that every object has is a word like others', () => {
  expect(clusterFilter('constructor:x').matches(row)).toBe(false);
});

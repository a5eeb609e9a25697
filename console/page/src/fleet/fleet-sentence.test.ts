import { expect, test } from 'vitest';
import type { ClusterRow } from '../../../rows/index.ts';
import { fleetSentence } from './fleet-sentence.ts';

const nowMs = 1_000_000;
const row = (name: string, overrides: Partial<ClusterRow> = {}): ClusterRow => ({
  name,
  state: 'ready',
  reason: 'Alive',
  sinceMs: nowMs - 40_000,
  ...overrides,
});
const held = { state: 'unknown', reason: 'OutageHeld', set: 'shops' } as const;
const away = {
  state: 'notReady',
  reason: 'Unreachable',
  message: 'no heartbeat for the whole grace',
} as const;

test.each([
  { name: 'nobody', clusters: [], want: 'No cluster has joined yet.' },
  { name: 'one that is well', clusters: [row('a')], want: 'The one member is well.' },
  { name: 'all are well', clusters: [row('a'), row('b')], want: 'All 2 members are well.' },
  {
    name: 'who is out is no member',
    clusters: [row('a'), row('b', { state: 'out', reason: 'Banned' })],
    want: 'The one member is well.',
  },
  {
    name: 'one is away',
    clusters: [row('a'), row('b', away)],
    want: 'b is not Ready: no heartbeat for the whole grace.',
  },
  {
    name: 'three are away',
    clusters: [row('a', away), row('b', away), row('c', away)],
    want: 'a, b and c are not Ready.',
  },
  {
    name: 'many are away',
    clusters: ['a', 'b', 'c', 'd'].map((name) => row(name, away)),
    want: '4 clusters are not Ready.',
  },
  {
    name: 'one has just fallen silent',
    clusters: [row('a'), row('b', { state: 'unknown', reason: 'ConnectionLost' })],
    want: 'b has just fallen silent; the hub waits before it says more.',
  },
  {
    name: 'an outage comes before all else',
    clusters: [row('a', away), row('b', held), row('c', held)],
    want: '2 clusters of set “shops” fell silent together 40 s ago. Nobody is called dead: the hub holds them as one outage.',
  },
  {
    name: 'only expected ones',
    clusters: [row('a', { state: 'expected', reason: 'NeverSeen' })],
    want: 'a is expected and not heard yet.',
  },
])('$name: $want', ({ clusters, want }) => {
  const others = clusters.filter(({ state }) => state !== 'ready');
  const { parts } = fleetSentence({ ready: clusters.length - others.length, others, requests: [] }, nowMs);
  expect(parts.map(({ text }) => text).join('')).toBe(want);
});

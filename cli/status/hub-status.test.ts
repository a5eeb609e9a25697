import { expect, test } from 'vitest';
import type { BusSide, KubernetesSide } from './read-sides.ts';
import { troublesOf } from './hub-status.ts';

function troublesAt(figures: Readonly<Record<string, number>>): string[] {
  const keeper = { name: 'trust-keeper', id: 'one', version: '0.1.0', started: '', figures };
  const bus: BusSide = { answers: [keeper], streams: {}, server: undefined, version: undefined };
  const kubernetes: KubernetesSide = { server: '', version: undefined, fence: undefined };
  return troublesOf(bus, kubernetes).map(({ check }) => check);
}

test.each([
  { name: 'with room', figures: { revokedKeys: 10, revokedKeysRoom: 100, revokedKeysDropped: 0 }, want: [] },
  {
    name: 'that filled up and dropped keys',
    figures: { revokedKeys: 100, revokedKeysRoom: 100, revokedKeysDropped: 1 },
    want: ['revocations dropped', 'revocations'],
  },
  {
    name: 'of a trust-keeper of before',
    figures: { revokedKeys: 100, revokedKeysRoom: 100 },
    want: ['revocations'],
  },
])('a revocation list $name: $want', ({ figures, want }) => {
  expect(troublesAt(figures)).toEqual(want);
});

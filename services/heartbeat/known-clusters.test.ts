import { expect, test } from 'vitest';
import { knownCluster } from './known-clusters.ts';

const clock = { monotonicMs: () => 10_000, hubMs: () => 1_000_000 };
const member = {
  key: 'UB',
  admittedAtMs: 999_000,
  intervalMs: 15_000,
  graceMs: 45_000,
  clusterSet: undefined,
  liveness: undefined,
  mayJoin: true,
};

test('before its first beat a cluster is never seen since its admission: what its former key said is older', () => {
  const { state, sinceMs, lastBeatMs } = knownCluster('c-1', member, clock);
  expect({ state, sinceMs, lastBeatMs }).toEqual({
    state: 'neverSeen',
    sinceMs: 9000,
    lastBeatMs: -Infinity,
  });
});

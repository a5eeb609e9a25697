import {
  approved,
  clusterRecord,
  type ClusterRecord,
  foldRecord,
  type Liveness,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { decideFlood, sayAgainAfterMs } from './flood-event.ts';

const liveness: Liveness = {
  state: 'ready',
  key: 'UA',
  cause: 'Alive',
  joinedAtMs: 1500,
  sinceMs: 1500,
  lastBeatAtMs: 1500,
};
const finding = { clusterId: 'c1', beats: 50_000, seconds: 10, nowMs: 1_000_000 };

function aRecord(was: Partial<Liveness> | undefined): ClusterRecord {
  const decision = {
    verdict: 'approved',
    key: 'UA',
    approvedKey: 'UA',
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    revokedKeys: [],
    clusterName: 'c1',
    namespace: 'c1',
    by: {},
    reason: 'R',
    message: 'm',
    decidedAtMs: 1,
  };
  const identity = { state: 'admitted', admittedKey: 'UA', admittedAtMs: 1000 } as unknown;
  return {
    ...clusterRecord(foldRecord({ kind: 'cluster', id: 'c1' }, [])),
    head: { epoch: 1, sequence: 9, digest: 'sha256:x' },
    identity: identity as NonNullable<ClusterRecord['identity']>,
    decision: approved.section.parse(decision) as NonNullable<ClusterRecord['decision']>,
    liveness: was && { ...liveness, ...was },
  };
}

const earlierBy = (ms: number) => ({ flood: { atMs: finding.nowMs - ms, beats: 1, seconds: 1 } });

test.each([
  { name: 'a member that never joined', was: undefined, want: 0 },
  { name: 'a first flood', was: {}, want: 1 },
  { name: 'a flood that goes on', was: earlierBy(sayAgainAfterMs - 1), want: 0 },
  { name: 'a flood after ten minutes', was: earlierBy(sayAgainAfterMs), want: 1 },
])('$name: $want event(s)', ({ was, want }) => {
  expect(decideFlood(aRecord(was), finding)).toHaveLength(want);
});

test('the event has the numbers, and leaves the liveness as it was', () => {
  const [flood] = decideFlood(aRecord({ state: 'suspect' }), finding);
  expect(flood).toMatchObject({
    definition: { type: 'flooding' },
    reason: 'Flooding',
    message: '50000 beats in 10.0 s, 5000 a second',
    section: { ...liveness, state: 'suspect', flood: { beats: 50_000, seconds: 10 } },
  });
});

import { expect, test } from 'vitest';
import { aDecision, aMember, anIdentity, aRecord, member } from '../tests/cluster-record.builder.ts';
import { desiredCluster } from './desired-cluster.ts';
import { desiredRequest } from './desired-request.ts';

const hidden = { simulated: { run: 'r', isShown: false } };
const shown = { simulated: { run: 'r', isShown: true } };

test.each([
  { name: 'nobody wants to see it', identity: hidden, decision: hidden, want: 'unmentioned' },
  { name: 'somebody wants to', identity: shown, decision: shown, want: 'present' },
  { name: 'a registrar alone says so', identity: hidden, decision: {}, want: 'present' },
  { name: 'an approver alone says so', identity: {}, decision: hidden, want: 'present' },
])('a cluster that is made up: $name', ({ identity, decision, want }) => {
  const record = aRecord({
    ...aMember(),
    identity: anIdentity({ ...member, ...identity }),
    decision: aDecision(decision),
  });
  expect(desiredCluster(record, undefined, undefined).presence).toBe(want);
  expect(desiredRequest(record).presence).toBe(want);
});

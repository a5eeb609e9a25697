import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { admittedBy } from './admitted-by.ts';

const { request } = anIdentity();
const policy = { policy: 'default', rule: 'all' };

test.each([
  { name: 'a policy at once', by: policy, afterMs: 60_000, want: 'policy' },
  { name: 'a policy, of what was held', by: policy, afterMs: 60_001, want: 'policy-later' },
  { name: 'a person', by: { person: 'anna' }, afterMs: 1, want: 'person' },
  { name: 'the key before it', by: { service: 'agent' }, afterMs: 1, want: undefined },
])('$name is $want', ({ by, afterMs, want }) => {
  const decision = aDecision({ by, decidedAtMs: request.requestedAtMs + afterMs });
  expect(admittedBy(decision, request)).toBe(want);
});

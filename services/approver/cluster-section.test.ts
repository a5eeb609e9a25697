import { expect, test } from 'vitest';
import { approvalAfter, type SectionBase, sectionAfter } from './cluster-section.ts';
import { aDecision, anIdentity, aRequest, heartbeat, nowMs } from './tests/builders.ts';

const outcome = { by: { service: 'approver' }, reason: 'R', message: 'm' };
const another = { id: 'R2', key: 'K2' };

test.each<{ name: string; previous: SectionBase['previous']; request?: object; want: string | undefined }>([
  { name: 'a first request', previous: undefined, want: 'of-token' },
  {
    name: 'who is in a set, with a token that gives another',
    previous: aDecision({ clusterSet: 'own' }),
    want: 'own',
  },
  { name: 'who is in none, or was taken out of it', previous: aDecision({}), want: undefined },
  { name: 'the request of another key', previous: aDecision({}), request: another, want: undefined },
  {
    name: 'a new life',
    previous: aDecision({ verdict: 'leaving', approvedKey: undefined, clusterSet: 'former' }),
    request: another,
    want: 'of-token',
  },
  {
    name: 'a claim, where a person laid down no set',
    previous: aDecision({ verdict: 'predefined', approvedKey: undefined, predefined: aPredefined() }),
    want: 'of-token',
  },
  {
    name: 'a claim, where a person laid down another',
    previous: aDecision({
      verdict: 'predefined',
      approvedKey: undefined,
      predefined: aPredefined(),
      clusterSet: 'laid-down',
    }),
    want: 'laid-down',
  },
])('the set that a token gives to $name: $want', ({ previous, request = {}, want }) => {
  const identity = anIdentity({ request: aRequest({ clusterSet: 'of-token', ...request }) });
  const base = { identity, previous, heartbeat, nowMs };
  expect(sectionAfter(base, { ...outcome, verdict: 'held' }).clusterSet).toBe(want);
  expect(approvalAfter(base, outcome).clusterSet).toBe(want);
});

function aPredefined() {
  return { clusterType: 'Standard', mode: 'Pull' } as const;
}

import { expect, test } from 'vitest';
import { approvalAfter, type SectionBase, sectionAfter } from './decision-section.ts';
import { aDecision, anIdentity, aRequest, heartbeat, nowMs } from '../tests/builders.ts';

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
    name: 'a new registration',
    previous: aDecision({ verdict: 'leaving', approvedKey: undefined, clusterSet: 'former' }),
    request: another,
    want: 'of-token',
  },
  {
    name: 'a binding, where a person laid down no set',
    previous: aDecision({ verdict: 'predefined', approvedKey: undefined, predefined: aPredefined() }),
    want: 'of-token',
  },
  {
    name: 'a binding, where a person laid down another',
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

test('of keys that other ones replaced the record keeps those of a week and 64 more, so that it stays one message', () => {
  let previous = aDecision({ revokedKeys: [{ key: 'left', atMs: 1, left: true }] });
  for (let index = 1; index < 1000; index++) {
    const request = aRequest({ id: `R${index}`, key: `U${index}` });
    const identity = anIdentity({ state: 'admitted', admittedKey: `U${index - 1}`, request });
    const atMs = nowMs + index * 3_600_000;
    previous = approvalAfter({ identity, previous, heartbeat, nowMs: atMs }, outcome);
  }
  expect(previous.revokedKeys.map(({ key }) => key).slice(0, 2)).toEqual(['left', `U${999 - 7 * 24 - 64}`]);
  expect(previous.revokedKeys).toHaveLength(1 + 7 * 24 + 64);
});

function aPredefined() {
  return { clusterType: 'Standard', mode: 'Pull' } as const;
}

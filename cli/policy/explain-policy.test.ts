import { draft, type EventDraft, type Identity, left, policyDeclared } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { join, logOf, startMs } from '../tests/past-history.ts';
import { explain } from './explain-policy.ts';

const what = { reason: 'R', message: 'm' };

function aPolicy(name: string): EventDraft {
  const rules = [{ name: 'r', when: 'true', effect: 'Approve' as const }];
  const section = { name, uid: name, generation: 1, rules, withdrawn: false };
  return draft(
    policyDeclared,
    { aggregate: { kind: 'policy', id: name }, head: undefined },
    { ...what, section },
  );
}

const explained = (...drafts: EventDraft[]) => explain(logOf(drafts), 'cluster-0', startMs + 1000);

test('of two policies that say the same, the one decides that did: the first by name', async () => {
  const { atDecision, now } = await explained(aPolicy('zeta'), aPolicy('alpha'), ...join(0));
  for (const moment of [atDecision, now])
    expect(moment?.rules.map(({ policy, decides }) => [policy, decides])).toEqual([
      ['alpha', true],
      ['zeta', false],
    ]);
});

test('a request is explained as it stood when it was decided, whatever became of the cluster', async () => {
  const [requested, approved] = join(0) as [EventDraft, EventDraft];
  const section = { ...(requested.section as Identity), state: 'left' as const, leftAtMs: startMs + 9 };
  const gone = draft(left, requested, { ...what, section });
  const { atDecision, now } = await explained(aPolicy('default'), requested, approved, gone);
  expect([atDecision?.verdict, now.verdict]).toEqual(['approved', 'settled']);
});

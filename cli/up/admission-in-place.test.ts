import { expect, test } from 'vitest';
import { untilPeopleAreHeard } from './admission-in-place.ts';

/** An approver that says these one after the other, and the last of them from then on. */
function anApprover(answers: { notReady?: string; degraded?: string }[]) {
  let asked = 0;
  const now = () => answers[Math.min(asked, answers.length - 1)] ?? {};
  return {
    asked: () => asked,
    notReady: () => now().notReady,
    degraded() {
      const { degraded } = now();
      asked++;
      return degraded;
    },
  };
}

test('an approver that is ready and has not seen the admission policies yet hears nobody', async () => {
  const approver = anApprover([{ degraded: 'the kind is not known yet' }, { degraded: 'another look' }, {}]);
  await untilPeopleAreHeard(approver);
  expect(approver.asked()).toBe(3);
});

test('over a history that is lost nobody is waited for', async () => {
  const approver = anApprover([{ notReady: 'HISTORY_LOST: it is shorter' }]);
  await expect(untilPeopleAreHeard(approver)).resolves.toBeUndefined();
});

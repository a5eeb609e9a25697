import { expect, test } from 'vitest';
import { failsAsBefore, isAnswer } from './decision-outcome.ts';
import type { RequestStatus } from './find-request.ts';

const failed: RequestStatus = {
  result: 'Failed',
  reason: 'NamespaceTaken',
  errorMessage: 'the namespace is taken',
  observed: { epoch: 1, sequence: 7 },
};
const held: RequestStatus = { result: 'Held', observed: { epoch: 1, sequence: 7 } };

test.each([
  { name: 'still held', before: held, now: held, want: false },
  { name: 'approved', before: held, now: { ...held, result: 'Approved' }, want: true },
  { name: 'failed now', before: held, now: failed, want: true },
  { name: 'failed before, and untouched', before: failed, now: failed, want: false },
  {
    name: 'failed before, and the decision noted',
    before: failed,
    now: { ...failed, observed: { epoch: 1, sequence: 8 } },
    want: false,
  },
  { name: 'failed at something else', before: failed, now: { ...failed, errorMessage: 'x' }, want: true },
  { name: 'failed before, and in now', before: failed, now: { ...failed, result: 'Approved' }, want: true },
  { name: 'without a status', before: undefined, now: undefined, want: false },
])('isAnswer to an approval: $name → $want', ({ before, now, want }) => {
  expect(isAnswer(before, now, ['Approved', 'Failed'])).toBe(want);
});

test.each([
  { name: 'the very status of before', now: failed, want: false },
  { name: 'a later event', now: { ...failed, observed: { epoch: 1, sequence: 8 } }, want: true },
  { name: 'a later epoch', now: { ...failed, observed: { epoch: 2, sequence: 1 } }, want: true },
  { name: 'no failure', now: { ...held, observed: { epoch: 1, sequence: 8 } }, want: false },
])('failsAsBefore: $name → $want', ({ now, want }) => {
  expect(failsAsBefore(failed, now)).toBe(want);
});

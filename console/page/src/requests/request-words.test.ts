import { expect, test } from 'vitest';
import { tokenWords, whyItWaits } from './request-words.ts';

const row = { id: 'a', name: 'a', result: 'Held', reason: 'PolicyHeld', message: '', sinceMs: 0 };

test.each([
  {
    of: {
      policy: 'sites',
      rule: 'ask-a-person',
      message:
        'rule "ask-a-person" of policy "sites" holds: NewSite; a person with create on managedclusters/accept decides',
    },
    want: 'Waits because rule ask-a-person of policy sites asks for a person (NewSite)',
  },
  { of: { policy: 'sites' }, want: 'Waits because policy sites asks for a person (PolicyHeld)' },
  {
    of: { reason: 'KeyChanged', message: 'another key than the one that is known' },
    want: 'Waits because the hub itself asks for a person (another key than the one that is known)',
  },
  {
    of: {
      reason: 'Unbanned',
      message:
        'alice takes the ban back; a person with verb create on managedclusters/accept decides: rollcall approve blue, or deny',
    },
    want: 'Waits because the hub itself asks for a person (alice takes the ban back)',
  },
  { of: { result: 'Pending', reason: '' }, want: 'Not judged yet' },
  { of: { result: 'Approved', message: 'alice approves: ours' }, want: 'alice approves: ours' },
])('$want', ({ of, want }) => {
  expect(whyItWaits({ ...row, ...of })).toBe(want);
});

test.each([
  { token: undefined, want: '' },
  { token: { by: 'alice', uses: 10, used: 3 }, want: ' (made by alice, 3 of 10 uses taken)' },
  { token: { uses: 'unlimited', used: 3 }, want: ' (unlimited uses)' },
] as const)('of its token: "$want"', ({ token, want }) => {
  expect(tokenWords(token)).toBe(want);
});

import { expect, test } from 'vitest';
import { stateOfRow, whyOfRow } from './row-words.ts';

test.each([
  {
    row: {
      state: 'expected',
      reason: 'PolicyHeld',
      message:
        'rule "ask-a-person" of policy "sites" holds: A person looks at new sites.; a person with create on managedclusters/accept decides',
    },
    want: 'A person looks at new sites, by rule ask-a-person of policy sites',
  },
  {
    row: { state: 'notReady', reason: 'AgentStopped', message: 'the agent said goodbye' },
    want: 'the agent said goodbye (AgentStopped)',
  },
  { row: { state: 'expected', reason: 'NewSite' }, want: 'NewSite' },
  { row: { state: 'ready', reason: 'Alive', message: 'heartbeats are coming' }, want: '' },
] as const)('what matters first: $want', ({ row, want }) => {
  expect(whyOfRow(row)).toBe(want);
});

test('who waits for a person is said to, and not to be silent', () => {
  expect(stateOfRow({ state: 'expected', isWaiting: true })).toBe('Waiting for a person');
  expect(stateOfRow({ state: 'expected' })).toBe('Not heard yet');
});

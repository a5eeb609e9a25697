import type { PhaseEvent } from '@rollcall/agent';
import { expect, test } from 'vitest';
import { exitCodeOf } from '../exit-code.ts';
import { approvalLine, finalError, lateError } from './foreground-agent.ts';

const aPhase = (phase: PhaseEvent['phase'], detail: PhaseEvent['detail'] = {}): PhaseEvent => ({
  phase,
  message: 'text',
  detail,
});

test.each([
  { name: 'nothing was heard', last: undefined, want: 6 },
  { name: 'a person must decide', last: aPhase('waiting', { reason: 'NoRuleMatched' }), want: 4 },
  { name: 'the hub has not judged', last: aPhase('waiting', { reason: 'Pending' }), want: 6 },
  { name: 'the hub is away', last: aPhase('connect', { code: 'HUB_UNREACHABLE' }), want: 5 },
  { name: 'the cluster was denied', last: aPhase('refused', { code: 'CLUSTER_DENIED' }), want: 3 },
  { name: 'a newer hub says something new', last: aPhase('refused', { code: 'NEW_CODE' }), want: 6 },
])('time is up and $name: exit $want', ({ last, want }) => {
  expect(exitCodeOf(lateError(last, 1000))).toBe(want);
});

test.each([
  { reason: 'NoRuleMatched', message: 'no policy names it', want: true },
  { reason: 'Pending', message: 'not judged yet', want: false },
  {
    reason: 'KeyChanged',
    message: 'known under another key; rollcall approve edge --replace-key a-b',
    want: false,
  },
  { reason: 'PolicyHeld', message: 'a rule holds; rollcall approve edge --replace-key a-b', want: false },
])('held for $reason, the command to approve is printed once: $message', ({ reason, message, want }) => {
  const event = { ...aPhase('waiting', { reason, clusterId: 'c-1' }), message };
  const line = approvalLine(event, 'a-b');
  expect(line).toBe(want ? '[approve] on the hub: rollcall approve --id c-1   (key a-b)' : undefined);
});

test.each([
  { code: 'TOKEN_USED_UP', isFinal: true },
  { code: 'NAME_TAKEN', isFinal: true },
  { code: 'HUB_CA_WRONG', isFinal: true },
  { code: 'HUB_UNREACHABLE', isFinal: false },
  { code: 'CLUSTER_DENIED', isFinal: false },
  { code: 'NEW_CODE', isFinal: false },
])('$code ends the command: $isFinal', ({ code, isFinal }) => {
  expect(finalError(aPhase('refused', { code })) !== undefined).toBe(isFinal);
});

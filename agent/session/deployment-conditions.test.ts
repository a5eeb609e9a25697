import { expect, test } from 'vitest';
import type { PhaseEvent } from '../protocol/phase.ts';
import { type AgentConditions, conditionsAfter, noConditions } from './deployment-conditions.ts';

const event = (phase: PhaseEvent['phase'], message = 'm', detail: PhaseEvent['detail'] = {}): PhaseEvent => ({
  phase,
  message,
  detail,
});
const after = (...events: readonly PhaseEvent[]): AgentConditions =>
  events.reduce(conditionsAfter, noConditions);
const shown = ({ Connected, Registered }: AgentConditions) =>
  [Connected, Registered].map(({ status, reason }) => `${status} ${reason}`);

test('an agent that has just started says so', () => {
  expect(shown(after(event('preflight')))).toEqual(['Unknown Starting', 'Unknown Starting']);
});

test.each([
  {
    name: 'a member',
    events: [event('connect'), event('register'), event('approve', 'admitted as "a"'), event('ready')],
    want: ['True Connected', 'True Admitted'],
  },
  {
    name: 'one that waits for a person',
    events: [event('connect'), event('register'), event('waiting', 'm', { reason: 'PolicyHeld' })],
    want: ['True Connected', 'False PolicyHeld'],
  },
  {
    name: 'one whose hub gives as the reason what a terminal acts on',
    events: [event('connect'), event('waiting', 'm', { reason: 'x\u001b[2J' })],
    want: ['True Connected', 'False Waiting'],
  },
  {
    name: 'one that the hub refuses',
    events: [event('connect'), event('refused', 'm', { code: 'TOKEN_EXPIRED' })],
    want: ['True Connected', 'False TokenExpired'],
  },
  {
    name: 'one that does not reach its hub',
    events: [event('connect', 'no route', { code: 'HUB_UNREACHABLE', hint: 'Check the network.' })],
    want: ['False HubUnreachable', 'Unknown Starting'],
  },
  {
    name: 'a member whose hub is away stays registered',
    events: [event('connect'), event('ready'), event('connect', 'no', { code: 'HUB_UNREACHABLE' })],
    want: ['False HubUnreachable', 'True Admitted'],
  },
  {
    name: 'one that leaves',
    events: [event('connect'), event('ready'), event('leave')],
    want: ['True Connected', 'False Leaving'],
  },
])('$name', ({ events, want }) => {
  expect(shown(after(...events))).toEqual(want);
});

test('a renewal that was refused for a moment is over with the next one', () => {
  const member = after(event('connect'), event('ready'));
  const refused = conditionsAfter(member, event('refused', 'm', { code: 'HUB_BUSY' }));
  expect(shown(refused)).toEqual(['True Connected', 'False HubBusy']);
  expect(shown(conditionsAfter(refused, event('renew')))).toEqual(['True Connected', 'True Admitted']);
});

test('the message says what to do, and what the member does changes nothing', () => {
  const away = after(event('connect', 'no route to h:1', { code: 'HUB_UNREACHABLE', hint: 'Check it.' }));
  expect(away.Connected.message).toBe('no route to h:1. Check it.');
  expect(conditionsAfter(away, event('member'))).toBe(away);
});

test('a message that is too long is cut between characters', () => {
  const { message } = after(event('connect', `${'m'.repeat(1023)}😀`, { code: 'HUB_UNREACHABLE' })).Connected;
  expect(message).toBe(`${'m'.repeat(1023)}\uFFFD`);
});

import { expect, test } from 'vitest';
import { departuresOf, silenceRecord } from './soak-record.ts';

const beganAtMs = 1_000_000;
const at = (ms: number) => beganAtMs + ms;
const run = {
  beganAtMs,
  intervalMs: 1000,
  graceMs: 3000,
  ownStalls: [{ fromMs: at(40_000), untilMs: at(60_000) }],
  stalls: [{ clusterId: 'late', fromMs: at(0), untilMs: at(9000) }],
  absences: [
    { clusterId: 'agent', fromMs: at(5000), untilMs: at(20_000) },
    { clusterId: 'made-up', fromMs: at(5000), untilMs: at(20_000) },
  ],
  losses: [
    { clusterId: 'agent', atMs: at(4000) },
    { clusterId: 'agent', atMs: at(5012) },
    { clusterId: 'made-up', atMs: at(8000) },
  ],
  hasAgent: (clusterId: string) => clusterId === 'agent',
};
const unreachable = (clusterId: string, ms: number) => ({ clusterId, type: 'unreachable', atMs: at(ms) });

test('who was silent is told rightly, and that takes its time', () => {
  const record = silenceRecord({ ...run, events: [unreachable('agent', 12_000)] });
  expect(record.wronged.unreachable).toEqual([]);
  expect(record.unreachable).toEqual([{ atMs: 5000, tookMs: 7000 }]);
});

test('the loss of a connection is the first that is told after the cut, of agents of their own', () => {
  expect(silenceRecord({ ...run, events: [] }).lossesTold).toEqual([{ atMs: 5000, tookMs: 12 }]);
});

test.each([
  { name: 'long after it is back', event: unreachable('agent', 30_000), want: ['agent'] },
  { name: 'never silent', event: unreachable('other', 12_000), want: ['other'] },
  { name: 'a grace after we stood still', event: unreachable('other', 62_000), want: [] },
  { name: 'later', event: unreachable('other', 64_000), want: ['other'] },
  { name: 'we had no time to send', event: unreachable('late', 8000), want: [] },
])('wrongly Unreachable: $name', ({ event, want }) => {
  expect(silenceRecord({ ...run, events: [event] }).wronged.unreachable).toEqual(want);
});

test('who leaves may be silent from then on', () => {
  const actions = [{ atMs: 3000, verb: 'leave' as const, cluster: 7 }];
  const idOf = (cluster: number) => `c-${cluster}`;
  expect(departuresOf(actions, { beganAtMs, idOf })).toEqual([{ clusterId: 'c-7', fromMs: at(3000) }]);
});

import { expect, test } from 'vitest';
import type { AgentSigners } from '@rollcall/shared/rights';
import type { HubTrust, StoredEvent } from '@rollcall/shared/events';
import { decideTrust, signersSinceMs } from './publish-trust.ts';

const nowMs = 1000;
const generation = (name: string): AgentSigners => ({
  token: `T${name}`,
  returning: `R${name}`,
  waiting: `W${name}`,
  member: `M${name}`,
});
const [a, b] = [generation('a'), generation('b')];
const told = (operatorKey: string, ...agentSigners: [AgentSigners, number][]): HubTrust => ({
  operatorKey,
  agentSigners: agentSigners.map(([keys, sinceMs]) => ({ keys, sinceMs })),
});
const recordOf = (section: HubTrust | undefined) => ({
  aggregate: { kind: 'hub', id: 'trust' } as const,
  head: undefined,
  lastOf: section === undefined ? {} : { 'account-controller': { section } as unknown as StoredEvent },
});

test.each([
  {
    name: 'the first keys of a hub, which are older than anything told',
    before: undefined,
    seen: { agentSigners: [a], operatorKey: 'O' },
    want: ['trust-announced', 'KeysAnnounced', told('O', [a, 0])],
  },
  {
    name: 'a next generation',
    before: told('O', [a, 0]),
    seen: { agentSigners: [a, b], operatorKey: 'O' },
    want: ['trust-announced', 'KeysAnnounced', told('O', [a, 0], [b, nowMs])],
  },
  {
    name: 'the former one dropped',
    before: told('O', [a, 0], [b, 7]),
    seen: { agentSigners: [b], operatorKey: 'O' },
    want: ['trust-changed', 'KeysDropped', told('O', [b, 7])],
  },
  {
    name: 'all at once',
    before: told('O', [a, 0]),
    seen: { agentSigners: [b], operatorKey: 'O' },
    want: ['trust-changed', 'KeysDropped', told('O', [b, nowMs])],
  },
  {
    name: 'another key of the operator',
    before: told('O', [a, 0]),
    seen: { agentSigners: [a], operatorKey: 'P' },
    want: ['trust-changed', 'OperatorKeyChanged', told('P', [a, 0])],
  },
])('what is told about $name', ({ before, seen, want }) => {
  const [draft] = decideTrust(recordOf(before), seen, nowMs);
  expect([draft?.definition.type, draft?.reason, draft?.section]).toEqual(want);
});

test.each([
  { name: 'as it was', agentSigners: [a, b] },
  { name: 'in another order', agentSigners: [b, a] },
])('nothing is told while all is $name', ({ agentSigners }) => {
  const before = told('O', [a, 0], [b, 7]);
  expect(decideTrust(recordOf(before), { agentSigners, operatorKey: 'O' }, nowMs)).toEqual([]);
});

test.each([
  { name: 'nothing was told', section: undefined, want: 0 },
  { name: 'the first generation is good', section: told('O', [a, 0], [b, 7]), want: 0 },
  { name: 'only a later one is', section: told('O', [b, 7]), want: 7 },
])('nothing else was signed with since $want when $name', ({ section, want }) => {
  expect(signersSinceMs(section)).toBe(want);
});

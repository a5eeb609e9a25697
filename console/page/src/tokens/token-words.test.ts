import { expect, test } from 'vitest';
import type { TokenRow } from '../../../rows/index.ts';
import { createLine, inLines, isForOneMachine, stateOfToken } from './token-words.ts';

const nowMs = Date.parse('2026-11-27T12:00:00Z');
const aToken = (over: Partial<TokenRow>): TokenRow => ({
  namespace: 'rollcall-join',
  name: 'one',
  uid: 'u',
  uses: 2,
  used: 1,
  expires: '2026-11-27T12:00:01Z',
  madeAtMs: 0,
  isReady: true,
  reason: 'Declared',
  message: '',
  isPublished: false,
  ...over,
});

test.each([
  { name: 'ends exactly now', over: { expires: '2026-11-27T12:00:00Z' }, want: 'ended' },
  { name: 'ends in a second', over: {}, want: 'may be used' },
  { name: 'never ends', over: { expires: 'never' }, want: 'may be used' },
  { name: 'was used as often as it may be', over: { used: 2 }, want: 'used up' },
  {
    name: 'may be used any number of times',
    over: { used: 9, uses: 'unlimited' as const },
    want: 'may be used',
  },
  { name: 'is not taken by the hub', over: { isReady: false, reason: 'SetUnknown' }, want: 'SetUnknown' },
])('a token that $name is shown as: $want', ({ over, want }) => {
  expect(stateOfToken(aToken(over), nowMs)).toBe(want);
});

test('the line that does the same quotes what a shell would read', () => {
  expect(createLine({ uses: '5', ttl: '1h', clusterName: 'edge-*', description: "it's" })).toBe(
    "rollcall token create --uses 5 --ttl 1h --cluster-name 'edge-*' --description 'it'\\''s'",
  );
});

test.each([
  {
    command: 'A=1 rollcall register h:1 --ca x --run',
    want: 'A=1 rollcall register h:1 \\\n  --ca x \\\n  --run',
  },
  { command: "rollcall register h:1 --name 'a --b'", want: "rollcall register h:1 --name 'a --b'" },
])('a flag a line: $command', ({ command, want }) => {
  expect(inLines(command)).toBe(want);
});

test.each([
  ['127.0.0.1:4222', true],
  ['localhost:4222,127.0.0.1:4222', true],
  ['hub.example.org:443,127.0.0.1:4222', false],
  ['wss://localhost:443', true],
  ["'[::1]:4222'", true],
  ['10.127.0.1:4222', false],
  ['hub.example.org:4222', false],
])('a hub at %s is for one machine: %s', (addresses, want) => {
  expect(isForOneMachine(`ROLLCALL_TOKEN=rc1.a rollcall register ${addresses} --run`)).toBe(want);
});

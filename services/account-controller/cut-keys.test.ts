import { expect, test } from 'vitest';
import { aDecision } from '../../tests/harness/events.ts';
import { cut, type StoredEvent } from '@rollcall/shared/events';
import { keysToCut } from './cut-keys.ts';

const nowMs = 1_000_000;
const longestLifeMs = 1000;
const event = { epoch: 1, sequence: 10 };

function told(at: { epoch: number; sequence: number }): StoredEvent {
  return {
    ...at,
    kind: 'cluster',
    id: 'c1',
    type: 'cut',
    definition: cut,
    eventId: 'e',
    timeMs: nowMs,
    source: '/rollcall/account-controller',
    traceparent: undefined,
    digest: 'sha256:0',
    previous: undefined,
    correlation: 'c',
    by: undefined,
    reason: 'Cut',
    message: 'm',
    section: { key: 'K1', atMs: nowMs },
  };
}

test.each([
  { name: 'just revoked', keys: [{ key: 'K1', atMs: nowMs }], cutAt: undefined, want: ['K1'] },
  { name: 'cut already', keys: [{ key: 'K1', atMs: nowMs }], cutAt: { epoch: 1, sequence: 11 }, want: [] },
  {
    name: 'cut before this revocation',
    keys: [{ key: 'K1', atMs: nowMs }],
    cutAt: { epoch: 1, sequence: 9 },
    want: ['K1'],
  },
  {
    name: 'cut before a restore',
    keys: [{ key: 'K1', atMs: nowMs }],
    cutAt: { epoch: 0, sequence: 11 },
    want: ['K1'],
  },
  { name: 'approved again', keys: [], cutAt: undefined, want: [] },
  {
    name: 'exactly as old as a credential can be',
    keys: [{ key: 'K1', atMs: nowMs - 1000 }],
    cutAt: undefined,
    want: ['K1'],
  },
  { name: 'lapsed', keys: [{ key: 'K1', atMs: nowMs - 1001 }], cutAt: undefined, want: [] },
])('$name → $want', ({ keys, cutAt, want }) => {
  const decision = aDecision({ verdict: 'revoked', revokedKeys: keys });
  const lastOf = cutAt ? { 'account-controller': told(cutAt) } : {};
  const toCut = keysToCut({ decision, lastOf }, event, { nowMs, longestLifeMs });
  expect(toCut.map(({ key }) => key)).toEqual(want);
});

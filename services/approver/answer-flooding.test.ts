import { approved, type Decision, type Liveness } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { decideFlooding } from './answer-flooding.ts';
import { aDecision, anIdentity, aRecord, nowMs } from './tests/builders.ts';

function aFlooding(decision: Decision, liveness: Partial<Liveness>) {
  const record = aRecord(anIdentity({ state: 'admitted', admittedKey: 'K1' }), {
    definition: approved,
    section: decision,
  });
  const flood = { atMs: nowMs - 500, beats: 9000, seconds: 1 };
  const section = { state: 'ready', key: 'K1', flood, ...liveness } as Liveness;
  return { ...record, liveness: section };
}

test.each([
  { name: 'the key that is in floods', want: 'revoked' },
  { name: 'it does not flood', liveness: { flood: undefined }, want: undefined },
  { name: 'another key flooded', liveness: { key: 'K0' }, want: undefined },
  { name: 'a person let it in again since', decision: { decidedAtMs: nowMs }, want: undefined },
  { name: 'nobody is in', decision: { approvedKey: undefined }, want: undefined },
])('$name → $want', ({ decision = {}, liveness = {}, want }) => {
  const [draft] = decideFlooding(
    aFlooding(aDecision(decision as Partial<Decision>), liveness as Partial<Liveness>),
    nowMs,
  );
  expect(draft?.definition.type).toBe(want);
});

test('the section says that the key is out', () => {
  const [draft] = decideFlooding(aFlooding(aDecision(), {}), nowMs);
  expect(draft?.section).toMatchObject({ verdict: 'revoked', revokedKeys: [{ key: 'K1', atMs: nowMs }] });
});

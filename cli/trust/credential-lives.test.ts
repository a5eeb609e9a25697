import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CredentialLife, lastEndsAtMs, livesAfter } from './credential-lives.ts';

const hourMs = 3_600_000;
const nowMs = 1_700_000_000_000;
const at = (hours: number) => nowMs + hours * hourMs;
const life = (hours: number, endsAfterHours?: number): CredentialLife => ({
  lifeMs: hours * hourMs,
  ...(endsAfterHours === undefined ? {} : { endsAtMs: at(endsAfterHours) }),
});

test.each([
  { name: 'nothing was known', before: [], inForce: 24, want: [life(24)] },
  { name: 'the same as before', before: [life(24)], inForce: 24, want: [life(24)] },
  { name: 'raised', before: [life(24)], inForce: 72, want: [life(72)] },
  { name: 'lowered', before: [life(72)], inForce: 24, want: [life(72, 72), life(24)] },
  {
    name: 'lowered twice',
    before: [life(72, 50), life(48)],
    inForce: 6,
    want: [life(72, 50), life(48, 48), life(6)],
  },
  {
    name: 'lowered, and the last one ends now',
    before: [life(72, 0), life(24)],
    inForce: 24,
    want: [life(24)],
  },
  { name: 'raised again', before: [life(72, 50), life(24)], inForce: 72, want: [life(72)] },
])('what may be out: $name', ({ before, inForce, want }) => {
  expect(livesAfter(before, { inForceMs: inForce * hourMs, nowMs })).toEqual(want);
});

test('a credential that an agent is connected with is out, whatever was known', () => {
  const outLongest = { lifeMs: 48 * hourMs, endsAtMs: at(30) };
  expect(livesAfter([life(24)], { inForceMs: 24 * hourMs, outLongest, nowMs })).toEqual([
    life(48, 30),
    life(24),
  ]);
  const shorter = { lifeMs: 6 * hourMs, endsAtMs: at(2) };
  expect(livesAfter([], { inForceMs: 24 * hourMs, outLongest: shorter, nowMs })).toEqual([life(24)]);
});

test('whatever is set when, no credential outlives what is said of it', () => {
  const step = fc.record({
    lifeMs: fc.integer({ min: 1, max: 100 }),
    forMs: fc.integer({ min: 1, max: 50 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), fc.nat(100), (steps, back) => {
      let known: readonly CredentialLife[] = [];
      let clockMs = 0;
      const issued: { atMs: number; endsAtMs: number }[] = [];
      // A value is seen once it is in force; it is issued up to the moment at which the next one is.
      for (const { lifeMs, forMs } of steps) {
        known = livesAfter(known, { inForceMs: lifeMs, nowMs: clockMs });
        clockMs += forMs;
        issued.push({ atMs: clockMs, endsAtMs: clockMs + lifeMs });
      }
      const untilMs = Math.max(0, clockMs - back);
      const saidMs = lastEndsAtMs(known, untilMs);
      const out = issued.filter(({ atMs, endsAtMs }) => atMs <= untilMs && endsAtMs > clockMs);
      return out.every(({ endsAtMs }) => endsAtMs <= saidMs);
    }),
  );
});

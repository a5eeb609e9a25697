import { expect, test } from 'vitest';
import { refuseStaleRequest } from './refuse-clock-skew.ts';

const nowMs = 1_700_000_000_000;

test.each([
  { name: 'now', signedAtMs: nowMs },
  { name: 'exactly five minutes ago', signedAtMs: nowMs - 300_000 },
  { name: 'exactly five minutes from now', signedAtMs: nowMs + 300_000 },
])('signed $name is taken', ({ signedAtMs }) => {
  expect(refuseStaleRequest(signedAtMs, nowMs)).toBeUndefined();
});

test.each([
  { name: 'a moment more than five minutes ago', signedAtMs: nowMs - 300_001, says: '300 s before' },
  { name: 'an hour from now', signedAtMs: nowMs + 3_600_000, says: '3600 s after' },
  { name: 'at the beginning of time', signedAtMs: Number.MIN_SAFE_INTEGER, says: 'before' },
])('signed $name is refused', ({ signedAtMs, says }) => {
  expect(refuseStaleRequest(signedAtMs, nowMs)).toMatchObject({
    code: 'CLOCK_SKEW',
    message: expect.stringContaining(says),
  });
});

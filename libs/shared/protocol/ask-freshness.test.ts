import { expect, test } from 'vitest';
import { refuseStaleAsk } from './ask-freshness.ts';

const nowMs = 1_700_000_000_000;

test.each([
  { name: 'now', askedAtMs: nowMs },
  { name: 'exactly five minutes ago', askedAtMs: nowMs - 300_000 },
  { name: 'exactly five minutes from now', askedAtMs: nowMs + 300_000 },
])('signed $name is taken', ({ askedAtMs }) => {
  expect(refuseStaleAsk(askedAtMs, nowMs)).toBeUndefined();
});

test.each([
  { name: 'a moment more than five minutes ago', askedAtMs: nowMs - 300_001, says: '300 s before' },
  { name: 'an hour from now', askedAtMs: nowMs + 3_600_000, says: '3600 s after' },
  { name: 'at the beginning of time', askedAtMs: Number.MIN_SAFE_INTEGER, says: 'before' },
])('signed $name is refused', ({ askedAtMs, says }) => {
  expect(refuseStaleAsk(askedAtMs, nowMs)).toMatchObject({
    code: 'CLOCK_SKEW',
    message: expect.stringContaining(says),
  });
});

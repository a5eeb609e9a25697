import fc from 'fast-check';
import { expect, test } from 'vitest';
import { credentialLifeMs } from './credential-life.ts';
import { periodMs } from './duration-schema.ts';
import { formatDuration, parseDurationMs } from './duration.ts';

test.each([
  ['15s', 15_000],
  ['1h30m', 5_400_000],
  ['7d', 604_800_000],
  ['0s', 0],
  ['', undefined],
  ['15', undefined],
  ['-5s', undefined],
  ['5s1h', undefined],
  ['1.5h', undefined],
  ['99999999999999999d', undefined],
])('"%s" is %s ms', (text, want) => {
  expect(parseDurationMs(text)).toBe(want);
});

test.each([
  { durationMs: 499.9, want: '0s' },
  { durationMs: 1500, want: '2s' },
  { durationMs: 1999.6, want: '2s' },
  { durationMs: 59_600, want: '1m' },
  { durationMs: 90_400.123456789, want: '1m30s' },
  { durationMs: 86_399_999, want: '1d' },
  { durationMs: -5, want: '0s' },
])('$durationMs ms is written as $want, in whole seconds', ({ durationMs, want }) => {
  expect(formatDuration(durationMs)).toBe(want);
});

test('what is formatted is read back', () => {
  fc.assert(
    fc.property(fc.nat(1e9), (seconds) => parseDurationMs(formatDuration(seconds * 1000)) === seconds * 1000),
  );
});

test.each([
  { text: '1s', want: 1000 },
  { text: '24d', want: 2_073_600_000 },
  // A loop without pause, and a timer that fires at once.
  { text: '0s', want: undefined },
  { text: '25d', want: undefined },
])('$text as a period: $want', ({ text, want }) => {
  expect(periodMs.safeParse(text).data).toBe(want);
});

test('no credential is over at once', () => {
  expect(credentialLifeMs.safeParse('0s').success).toBe(false);
});

import { expect, test } from 'vitest';
import { durationFlagMs, timeoutFlagMs } from './duration-flag.ts';

test.each([
  { text: '0s', want: 0 },
  { text: '1h30m', want: 5_400_000 },
  { text: '24d', want: 24 * 86_400_000 },
  { text: '25d', want: 2_147_483_647 },
  { text: '3650d', want: 2_147_483_647 },
])('a timeout of $text is a timer of $want ms', ({ text, want }) => {
  expect(timeoutFlagMs(text)).toBe(want);
});

test('other durations are as long as they are', () => {
  expect(durationFlagMs('--for', '3650d')).toBe(3650 * 86_400_000);
});

test.each([{ text: '' }, { text: '5' }, { text: '-1s' }])('"$text" is no duration', ({ text }) => {
  expect(() => timeoutFlagMs(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

import { expect, test } from 'vitest';
import { sequenceSince } from './sequence-since.ts';

const nowMs = 10_000_000;
const lastSequence = 100_000;

test.each([
  { hub: 'at rest', perMinute: 0, want: 99_000 },
  { hub: 'with few events', perMinute: 400, want: 99_000 },
  { hub: 'whose clocks may differ', perMinute: 500, want: 98_000 },
  { hub: 'whose fleet is coming in', perMinute: 25_000, want: 36_000 },
  { hub: 'that began less than a minute ago', perMinute: 200_000, want: 1 },
])('of a hub $hub all events of the last minute are read', async ({ perMinute, want }) => {
  const timeOf = (sequence: number) => nowMs - ((lastSequence - sequence) / perMinute) * 60_000;
  const firstMsFrom = async (from: number) => timeOf(from);
  expect(await sequenceSince(nowMs - 60_000, lastSequence, firstMsFrom)).toBe(want);
});

test('where nothing can be read it looks further back', async () => {
  const firstMsFrom = async (from: number) => (from > 97_000 ? undefined : 0);
  expect(await sequenceSince(nowMs, lastSequence, firstMsFrom)).toBe(96_000);
});

test('a history that is empty or short is read from its beginning', async () => {
  const never = () => Promise.reject(new Error('it is not looked at'));
  expect(await sequenceSince(nowMs, 0, never)).toBe(1);
  expect(await sequenceSince(nowMs, 1001, never)).toBe(1);
});

import { expect, test } from 'vitest';
import { createDepartures, departureMayWaitMs } from './departures.ts';

const about = (type: string, id = 'edge', kind: 'cluster' | 'token' = 'cluster') => ({ kind, type, id });

test('a cluster is on its way out from `leaving` to `left`, and nobody else is', () => {
  const departures = createDepartures();
  expect(departures.note(about('ready'))).toBe(false);
  expect(departures.note(about('leaving'))).toBe(true);
  expect(departures.note(about('revoked'))).toBe(true);
  expect(departures.note(about('revoked', 'other'))).toBe(false);
  expect(departures.note(about('used', 'edge', 'token'))).toBe(false);
  expect(departures.note(about('left'))).toBe(true);
  expect(departures.note(about('released'))).toBe(false);
});

test('one that comes back while it leaves is shown as one that comes', () => {
  const departures = createDepartures();
  departures.note(about('leaving'));
  expect(departures.note(about('requested'))).toBe(false);
  expect(departures.note(about('approved'))).toBe(false);
});

test('beginning and end of a leaving are shown at once, what is between them together', () => {
  expect(['leaving', 'revoked', 'cut', 'left'].map((type) => departureMayWaitMs({ type }))).toEqual([
    0, 1000, 1000, 0,
  ]);
});

import { expect, test } from 'vitest';
import { whyLost } from './why-stream-lost.ts';

const open = { openedAtMs: 1000, hasHeard: true, end: { hasHeardAll: false } };

test('an agent that is silent for ten seconds has lost its streams, and one that never spoke of one has lost that', () => {
  expect(whyLost(open, { nowMs: 20_000, heardAtMs: 12_000 })).toBeUndefined();
  expect(whyLost(open, { nowMs: 22_001, heardAtMs: 12_000 })).toBe('the agent does not answer');
  expect(whyLost({ ...open, hasHeard: false }, { nowMs: 11_001, heardAtMs: 11_000 })).toBe(
    'the agent does not answer',
  );
});

test('a stream that the agent does not name is lost, unless it is so new that the two may have crossed', () => {
  expect(whyLost(open, { nowMs: 7001, isThere: false })).toBe('the agent has this stream no more');
  expect(whyLost(open, { nowMs: 7000, isThere: false })).toBeUndefined();
  expect(whyLost(open, { nowMs: 90_000, isThere: true })).toBeUndefined();
});

test('what the agent has said in full is read by a slow client to its end, whether the agent is there or not', () => {
  const said = { ...open, end: { hasHeardAll: true } };
  expect(whyLost(said, { nowMs: 90_000, isThere: false })).toBeUndefined();
  expect(whyLost(said, { nowMs: 90_000 })).toBeUndefined();
});

import {
  admitted,
  approved,
  banned,
  type EventDefinition,
  joined,
  leaveRequested,
  leaving,
  left,
  ready,
  requested,
  revoked,
  suspect,
  tokenUsed,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { createDepartures, departureMayWaitMs } from './departures.ts';

const about = (definition: EventDefinition, id = 'edge', timeMs = 0) => ({
  kind: definition.kind,
  type: definition.type,
  id,
  definition,
  timeMs,
});

test('a cluster is on its way out from `leaving` to `left`, and nobody else is', () => {
  const departures = createDepartures();
  expect(departures.note(about(ready))).toBe(false);
  expect(departures.note(about(leaving))).toBe(true);
  expect(departures.note(about(revoked))).toBe(true);
  expect(departures.note(about(revoked, 'other'))).toBe(false);
  expect(departures.note(about(tokenUsed))).toBe(false);
  expect(departures.note(about(left))).toBe(true);
  expect(departures.note(about(ready))).toBe(false);
});

test('one that asks to leave is on its way out before anything is decided', () => {
  const departures = createDepartures();
  expect(departures.note(about(leaveRequested))).toBe(true);
  expect(departures.note(about(suspect))).toBe(true);
  expect(departures.note(about(leaving))).toBe(true);
  expect(departures.note(about(revoked))).toBe(true);
});

test.each([banned, revoked])('one that asked to leave and is $type instead is like any other', (verdict) => {
  const departures = createDepartures();
  departures.note(about(leaveRequested));
  expect(departures.note(about(verdict))).toBe(false);
  expect(departures.note(about(suspect))).toBe(false);
});

test('the end of a leaving is part of it, also where another replica heard its beginning', () => {
  expect(createDepartures().note(about(left))).toBe(true);
});

test('one that comes back while it leaves is shown as one that comes', () => {
  const departures = createDepartures();
  departures.note(about(leaveRequested));
  departures.note(about(leaving));
  expect(departures.note(about(requested))).toBe(false);
  expect(departures.note(about(approved))).toBe(false);
});

test.each([requested, approved, admitted, joined])(
  'one whose end another replica heard, and that is back ($type), is like any other',
  (back) => {
    const departures = createDepartures();
    departures.note(about(leaving));
    expect(departures.note(about(back))).toBe(false);
    expect(departures.note(about(ready))).toBe(false);
  },
);

test('nobody leaves for longer than ten minutes, or those would grow whose end another replica heard', () => {
  const departures = createDepartures();
  departures.note(about(leaving));
  departures.note(about(leaving, 'another', 300_000));
  expect(departures.note(about(suspect, 'edge', 600_000))).toBe(true);
  expect(departures.note(about(suspect, 'edge', 600_001))).toBe(false);
  expect(departures.note(about(suspect, 'another', 600_001))).toBe(true);
});

test('the end of a leaving is shown at once, what is before it together', () => {
  expect(
    ['leave-requested', 'leaving', 'revoked', 'cut', 'left'].map((type) => departureMayWaitMs({ type })),
  ).toEqual([1000, 1000, 1000, 1000, 0]);
});

import { eventCatalogue, type EventCauser, eventCauses } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { largestEvent } from './generate/generate-event-causes.ts';
import { grows, largestSection } from './generate/largest-sections.ts';

/** `max_msg_size` of stream EVENTS. */
const largestMessage = 262_144;
const names = eventCatalogue.map(({ kind, type }) => `${kind}.${type}`);

test('of every type of event it is said who can cause it and how often, and of none that there is not', () => {
  expect(Object.keys(eventCauses).toSorted()).toEqual([...new Set(names)].toSorted());
});

test.each(
  eventCatalogue.map((definition) => ({ name: `${definition.kind}.${definition.type}`, definition })),
)('$name at its worst fits into a message, and into its schema', ({ name, definition }) => {
  if (Object.hasOwn(grows, name)) return;
  expect(definition.section.safeParse(JSON.parse(JSON.stringify(largestSection(definition)))).success).toBe(
    true,
  );
  expect(largestEvent(definition)).toBeLessThan(largestMessage);
});

test('nothing grows without a bound that a holder of a token or a member can cause', () => {
  const strangers = new Set<EventCauser>(['token', 'member']);
  const theirs = Object.keys(eventCauses).filter((name) =>
    eventCauses[name]?.by.some((who) => strangers.has(who)),
  );
  expect(theirs.filter((name) => Object.hasOwn(grows, name))).toEqual([]);
});

test('what holders of tokens cause alone ends when the place is nearly full', () => {
  const theirs = Object.entries(eventCauses).filter(([, { by }]) => by.includes('token'));
  expect(theirs.filter(([, { stopsWhenFull }]) => !stopsWhenFull)).toEqual([]);
});

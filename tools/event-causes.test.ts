import { eventCatalogue, eventCauses } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { largestEvent } from './generate/generate-event-causes.ts';
import { largestSection } from './generate/largest-sections.ts';

/** `max_msg_size` of stream EVENTS. */
const largestMessage = 262_144;
const names = eventCatalogue.map(({ kind, type }) => `${kind}.${type}`);

test('of every type of event it is said who can cause it and how often, and of none that there is not', () => {
  expect(Object.keys(eventCauses).toSorted()).toEqual([...new Set(names)].toSorted());
});

test.each(
  eventCatalogue.map((definition) => ({ name: `${definition.kind}.${definition.type}`, definition })),
)('$name at its worst fits into a message, and into its schema', ({ definition }) => {
  expect(definition.section.safeParse(JSON.parse(JSON.stringify(largestSection(definition)))).success).toBe(
    true,
  );
  expect(largestEvent(definition)).toBeLessThan(largestMessage);
});

test('what holders of tokens cause alone ends when the place is nearly full', () => {
  const theirs = Object.entries(eventCauses).filter(([, { by }]) => by.includes('token'));
  expect(theirs.filter(([, { stopsWhenFull }]) => !stopsWhenFull)).toEqual([]);
});

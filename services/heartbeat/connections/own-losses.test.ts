import { expect, test } from 'vitest';
import { createLossWatch } from './own-losses.ts';

/** `-` is lost, `+` came back; `m` is the main connection, `s` the second. */
test.each([
  { what: 'the second one alone', events: ['-s', '+s'], want: 1 },
  { what: 'the main one alone', events: ['-m', '+m'], want: 0 },
  { what: 'both, the main one first', events: ['-m', '-s', '+m', '+s'], want: 0 },
  { what: 'both, the second one first', events: ['-s', '-m', '+s', '+m'], want: 0 },
  { what: 'the main one while the second one was away', events: ['-s', '-m', '+m', '+s'], want: 0 },
  { what: 'one after the other', events: ['-m', '+m', '-s', '+s'], want: 1 },
  { what: 'both, and then the second one alone', events: ['-m', '-s', '+m', '+s', '-s', '+s'], want: 1 },
])('lost $what: $want of its own', ({ events, want }) => {
  const watch = createLossWatch();
  const own = events.filter((event) => {
    const which = event.endsWith('m') ? 'main' : 'second';
    if (event.startsWith('+')) return watch.cameBack(which);
    watch.lost(which);
    return false;
  });
  expect(own).toHaveLength(want);
});

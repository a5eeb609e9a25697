import { expect, test } from 'vitest';
import { parseBenchFlags } from './bench-flags.ts';
import { partNames } from './result.ts';

test('without --only everything but the soak is run', () => {
  expect(parseBenchFlags([])?.only).toEqual(partNames.filter((name) => name !== 'soak'));
});

test('parts are run in their own order, however they are given', () => {
  expect(parseBenchFlags(['--only', 'simulation,joins'])?.only).toEqual(['joins', 'simulation']);
});

test.each([
  { args: ['--only', 'join'], says: '"join" is none of' },
  { args: ['--only', ''], says: '"" is none of' },
  { args: ['--agents', '0'], says: '--agents "0"' },
  { args: ['--seeds', 'many'], says: '--seeds "many"' },
  { args: ['--servers', '2'], says: '--servers "2"' },
  { args: ['--fast'], says: '--fast' },
])('$args is a mistake', ({ args, says }) => {
  expect(() => parseBenchFlags(args)).toThrow(says);
});

import { expect, test } from 'vitest';
import { someNames } from './some-names.ts';

test('of many names ten are told', () => {
  expect(someNames(['a', 'b'])).toBe('a, b');
  expect(someNames(Array.from({ length: 12 }, (_, index) => `c${index}`))).toMatch(/c9 and 2 more$/);
});

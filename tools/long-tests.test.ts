import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isLongTest, longPatterns } from './long-tests.mjs';

test.each(longPatterns)('%s is there, and its tests are long ones', (pattern) => {
  const files = globSync(pattern, { cwd: `${import.meta.dirname}/..` });
  expect(files.length).toBeGreaterThan(0);
  expect(files.every(isLongTest)).toBe(true);
});

test('a test beside a long one is not long', () => {
  expect(isLongTest('tests/bus/lists.test.ts')).toBe(true);
  expect(isLongTest('tests/bus/lists-more.test.ts')).toBe(false);
});

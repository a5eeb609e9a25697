import { expect, test } from 'vitest';
import { plain } from './difference.ts';
import { shownFacts } from './shown-facts.ts';

test.each([
  { name: 'that are shown alike', names: ['a\u0001', 'a\u0002', 'a\u200b', 'a\uFFFD'] },
  { name: 'that differ in half a character', names: ['a\uD800', 'a\uD801'] },
  { name: 'that differ in a break', names: ['a b', 'a\nb', 'a\u2028b'] },
  { name: 'that are the same', names: ['a', 'a'] },
])('of names of claims $name one is shown: the API server refuses a whole status for two', ({ names }) => {
  const claims = names.map((name, at) => ({ name, value: String(at) }));
  const { clusterClaims } = plain(shownFacts({ claims }, { labels: {} } as never));
  expect(clusterClaims).toHaveLength(1);
});

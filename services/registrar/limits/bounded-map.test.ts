import { expect, test } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

test('one more than it keeps has the first one forgotten', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('c', 3);
  expect([...map]).toEqual([
    ['b', 2],
    ['c', 3],
  ]);
});

test('what is there is changed in its place, and nothing is forgotten for it', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('b', 3).set('a', 4);
  expect([...map]).toEqual([
    ['a', 4],
    ['b', 3],
  ]);
});

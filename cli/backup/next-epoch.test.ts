import { expect, test } from 'vitest';
import { nextEpoch } from './next-epoch.ts';

test.each([
  { name: 'the backup alone', known: [1, 0], asked: undefined, want: 2 },
  { name: 'a hub that was restored before from the same backup', known: [1, 2], asked: undefined, want: 3 },
  { name: 'a person who knows of a later one', known: [1, 0], asked: 7, want: 7 },
])('the next epoch after $name is $want', ({ known, asked, want }) => {
  expect(nextEpoch(known, asked)).toBe(want);
});

test.each([1, 2, 2.5, Number.NaN])('epoch %s would not be a later epoch than 2', (asked) => {
  expect(() => nextEpoch([2, 1], asked)).toThrow(/at least 3/);
});

test('after a hub whose file is damaged a person has to say it', () => {
  expect(() => nextEpoch([1, undefined], undefined)).toThrow(/cannot be read.*--epoch 2/);
  expect(nextEpoch([1, undefined], 5)).toBe(5);
});

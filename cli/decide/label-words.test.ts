import { expect, test } from 'vitest';
import { isSo, overwritten, parseLabelWords } from './label-words.ts';

test('names and labels come in any order, as kubectl takes them', () => {
  expect(parseLabelWords(['edge-1', 'region=eu', 'example.org/site-', 'edge-2', 'empty='])).toEqual({
    names: ['edge-1', 'edge-2'],
    changes: { region: 'eu', 'example.org/site': null, empty: '' },
  });
  expect(parseLabelWords(['region=eu,env=prod']).changes).toEqual({ region: 'eu', env: 'prod' });
});

test.each([
  { words: ['edge-1'], says: 'give a label' },
  { words: ['edge-1', 'region=eu', 'region-'], says: '"region" is named twice' },
  { words: ['edge-1', 'region=eu', 'region=us'], says: '"region" is named twice' },
  { words: ['edge-1', 'a b-'], says: '"a b" is no label' },
  { words: ['edge-1', 'a b=c'], says: 'not of the form' },
  { words: ['edge-1', 'region=e u'], says: 'no value that Kubernetes takes' },
  { words: ['-'], says: '"" is no label' },
])('$words are no labels of anything', ({ words, says }) => {
  expect(() => parseLabelWords(words)).toThrow(says);
});

test('what has another value is said; what is taken away, or is as it was, is not', () => {
  const before = { region: 'us', env: 'prod', site: 'x' };
  expect(overwritten(before, { region: 'eu', env: 'prod', site: null, tier: 'gold' })).toEqual(['region=us']);
  expect(isSo(before, { env: 'prod', tier: null })).toBe(true);
  expect(isSo(before, { env: null })).toBe(false);
  // What every object inherits is no label.
  expect(overwritten({}, { constructor: 'x' })).toEqual([]);
  expect(isSo({}, { constructor: null })).toBe(true);
});

import { expect, test } from 'vitest';
import { trialSentence } from './trial-words.ts';

test.each([
  { counts: {}, isMore: false, want: 'The draft changes nothing for them.' },
  {
    counts: { 'held → approved': 3 },
    isMore: true,
    want: 'The draft would let 3 more clusters in without a person.',
  },
  {
    counts: { 'held → approved': 1, 'denied → approved': 1, 'approved → held': 1 },
    isMore: true,
    want: 'The draft would let 2 more clusters in without a person, and no longer let 1 cluster in without a person.',
  },
  {
    counts: { 'held → denied': 2 },
    isMore: false,
    want: 'The draft would decide 2 other requests differently, without letting them in.',
  },
])('$want', ({ counts, want, isMore }) => {
  const differently = Object.values(counts).reduce((sum: number, count) => sum + count, 0);
  expect(trialSentence({ differently, counts })).toEqual({ text: want, isMore });
});

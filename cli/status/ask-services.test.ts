import { expect, test } from 'vitest';
import { figureOfParts, type ServiceReply } from './ask-services.ts';

const answer = (figures: Record<string, number>, name = 'heartbeat'): ServiceReply => ({
  name,
  id: JSON.stringify(figures),
  version: '1',
  started: '',
  figures,
});

test('replicas of one part know the same, and parts add up', () => {
  const parts = [
    answer({ part: 0, parts: 2, clustersReady: 10 }),
    // It has just started.
    answer({ part: 0, parts: 2, clustersReady: 4 }),
    answer({ part: 1, parts: 2, clustersReady: 7 }),
    // Of before the fleet was divided: it still hears all of it.
    answer({ part: 0, parts: 1, clustersReady: 16 }),
    answer({ clustersReady: 100 }, 'projector'),
  ];
  expect(figureOfParts(parts, 'clustersReady')).toBe(17);
});

test('an older version says nothing of parts, and nobody nothing at all', () => {
  expect(figureOfParts([answer({ clustersReady: 5 }), answer({ clustersReady: 6 })], 'clustersReady')).toBe(
    6,
  );
  expect(figureOfParts([], 'clustersReady')).toBeUndefined();
});

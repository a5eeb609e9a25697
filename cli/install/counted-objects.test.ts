import { expect, test } from 'vitest';
import { countedObjects } from './counted-objects.ts';

const objects = (kind: string, count: number, outcome = 'created') =>
  Array.from({ length: count }, (_, index) => ({ kind, name: `${kind[0]}-${index}`, outcome }));

test('of a kind with many objects the number is said, of others their names', () => {
  const all = [
    ...objects('ClusterRole', 4),
    ...objects('Deployment', 2),
    ...objects('ClusterRole', 1, 'changed'),
  ];
  expect(countedObjects(all)).toEqual([
    'ClusterRole: 4 created',
    'Deployment D-0: created',
    'Deployment D-1: created',
    'ClusterRole C-0: changed',
  ]);
});

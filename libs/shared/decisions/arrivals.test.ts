import { expect, test } from 'vitest';
import { createArrivals } from './arrivals.ts';

test('clusters are on the way in for two seconds after one asked or was approved', () => {
  let now = 0;
  const arrivals = createArrivals(() => now);
  expect(arrivals.areUnderWay()).toBe(false);
  arrivals.note({ kind: 'cluster', type: 'leaving' });
  arrivals.note({ kind: 'policy', type: 'approved' });
  expect(arrivals.areUnderWay()).toBe(false);
  for (const type of ['requested', 'approved']) {
    arrivals.note({ kind: 'cluster', type });
    now += 1999;
    expect(arrivals.areUnderWay()).toBe(true);
    now += 1;
    expect(arrivals.areUnderWay()).toBe(false);
  }
});

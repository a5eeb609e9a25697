import { expect, test } from 'vitest';
import { UnknownClusters } from './unknown-clusters.ts';

const has = (unknown: UnknownClusters, id: string, nowMs: number) =>
  unknown.has(Buffer.from(`heartbeat.${id}`, 'latin1'), 'heartbeat.'.length, nowMs);

test('an id is known as unknown for five seconds', () => {
  const unknown = new UnknownClusters();
  unknown.add('c1', 1000);
  expect([5999, 6000].map((nowMs) => has(unknown, 'c1', nowMs))).toEqual([true, false]);
  expect(has(unknown, 'c2', 1000)).toBe(false);
});

test('an id whose heartbeat was heard after all is forgotten, and no other', () => {
  const unknown = new UnknownClusters();
  unknown.add('c1', 1000);
  unknown.add('c2', 1000);
  unknown.forget('c1');
  unknown.forget('c3');
  expect(['c1', 'c2'].map((id) => has(unknown, id, 1001))).toEqual([false, true]);
});

import { expect, test } from 'vitest';
import type { EventRow } from '../../../rows/index.ts';
import { newestFirst } from './newest-first.ts';

const row = (type: string, atMs: number, sequence?: number, epoch = 1): EventRow => ({
  type,
  id: 'edge',
  atMs,
  writer: 'heartbeat',
  reason: 'NoHeartbeats',
  message: '',
  ...(sequence === undefined ? {} : { sequence, epoch }),
});
const most = 10;

test('the newest come first, each once, and no more than are wanted', () => {
  const before = newestFirst([], [row('cluster.joined', 1, 1), row('cluster.suspect', 2, 2)], most);
  expect(before.map(({ sequence }) => sequence)).toEqual([2, 1]);
  expect(newestFirst(before, [row('cluster.joined', 1, 1)], most)).toBe(before);
  const added = newestFirst(before, [row('cluster.ready', 3, 3)], 2);
  expect(added.map(({ sequence }) => sequence)).toEqual([3, 2]);
});

test.each([
  {
    name: 'a transition that was heard and then kept',
    heard: row('live.suspect', 5),
    shown: ['cluster.suspect'],
  },
  {
    name: 'one that was heard long before',
    heard: row('live.suspect', -20_000),
    shown: ['cluster.suspect', 'live.suspect'],
  },
  {
    name: 'one into another state',
    heard: row('live.connection-lost', 5),
    shown: ['cluster.suspect', 'live.connection-lost'],
  },
])('of $name is shown what is of its own', ({ heard, shown }) => {
  const kept = row('cluster.suspect', 7, 1);
  const typesOf = (events: readonly EventRow[]) => events.map(({ type }) => type).toSorted();
  for (const [first, second] of [
    [[heard], [kept]],
    [[kept], [heard]],
    [[heard, kept], []],
  ] as const)
    expect(typesOf(newestFirst(newestFirst([], first, most), second, most))).toEqual(shown);
});

test('of what two replicas say, be it in the same millisecond, one is shown', () => {
  const said = row('live.connection-lost', 5);
  expect(newestFirst([], [said, { ...said }], most)).toHaveLength(1);
  expect(newestFirst([said], [row('live.connection-lost', 7), row('live.ready', 9)], most)).toHaveLength(2);
  expect(newestFirst([said], [row('live.connection-lost', 5000)], most)).toHaveLength(2);
});

test('events that a restore took back go when others stand in their place', () => {
  const before = newestFirst([], [row('cluster.joined', 1, 900), row('cluster.suspect', 2, 901)], most);
  const restored = row('hub.restored', 3, 901, 2);
  const after = newestFirst(before, [restored], most);
  expect(after.map(({ type }) => type)).toEqual(['hub.restored', 'cluster.joined']);
  expect(newestFirst([], [...before.toReversed(), restored], most)).toEqual(after);
});

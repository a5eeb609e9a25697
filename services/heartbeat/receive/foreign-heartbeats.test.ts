import { expect, test } from 'vitest';
import { ForeignHeartbeats, mostForeignIds } from './foreign-heartbeats.ts';

function count(foreign: ForeignHeartbeats, id: string, times = 1): void {
  const subject = Buffer.from(`rollcall.heartbeat-partition.1.${id}`, 'latin1');
  foreign.count(subject, subject.length - id.length, times);
}

test('who sends more than that since the last look is named, once', () => {
  const foreign = new ForeignHeartbeats();
  count(foreign, 'c1', 2);
  for (let one = 0; one < 3; one++) count(foreign, 'c2');
  expect(foreign.takeFloods(2)).toEqual([{ clusterId: 'c2', heartbeats: 3 }]);
  expect(foreign.takeFloods(2)).toEqual([]);
  count(foreign, 'c1', 3);
  expect(foreign.takeFloods(2)).toEqual([{ clusterId: 'c1', heartbeats: 3 }]);
});

test('however many ids there are, it does not grow, and who was there goes on being counted', () => {
  const foreign = new ForeignHeartbeats();
  count(foreign, 'first');
  for (let one = 0; one < 2 * mostForeignIds; one++) count(foreign, `c${one}`, 100);
  count(foreign, 'first', 100);
  const floods = foreign.takeFloods(10);
  expect(floods).toHaveLength(mostForeignIds);
  expect(floods[0]).toEqual({ clusterId: 'first', heartbeats: 101 });
});

test('no id, and one that no cluster can have, are nobody', () => {
  const foreign = new ForeignHeartbeats();
  count(foreign, '', 100);
  count(foreign, 'x'.repeat(64), 100);
  expect(foreign.takeFloods(1)).toEqual([]);
});

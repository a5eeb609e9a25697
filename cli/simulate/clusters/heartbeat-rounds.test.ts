import { expect, test } from 'vitest';
import { HeartbeatRounds } from './heartbeat-rounds.ts';
import { createRandom } from '../random.ts';

test('everybody sends one heartbeat in each interval, spread over it, and what was slept through is left out', () => {
  const rounds = new HeartbeatRounds({ intervalMs: 5000, startMs: 0 });
  const random = createRandom(1);
  for (let cluster = 0; cluster < 1000; cluster++) rounds.add(cluster, random);
  const heartbeats = new Map<number, number>();
  const most: number[] = [];
  const pass = (nowMs: number) => {
    let count = 0;
    rounds.due(nowMs, (cluster) => {
      count++;
      heartbeats.set(cluster, (heartbeats.get(cluster) ?? 0) + 1);
    });
    most.push(count);
  };
  for (let nowMs = 25; nowMs <= 15_000; nowMs += 25) pass(nowMs);
  expect([...heartbeats.values()]).toEqual(Array.from({ length: 1000 }, () => 3));
  expect(Math.max(...most)).toBeLessThan(40);
  pass(3_600_000);
  expect(most.at(-1)).toBe(1000);
});

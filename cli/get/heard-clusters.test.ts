import type { NatsConnection } from '@nats-io/transport-node';
import { type Heard, type HeardReply, mostClustersAtOnce } from '@rollcall/shared/protocol';
import { describe, expect, test } from 'vitest';
import { askHeard, missingParts, takeYoungest } from './heard-clusters.ts';

const answer = (replica: string, clusters: Heard[]): HeardReply => ({ replica, clusters });

test('of several answers about a cluster the youngest heartbeat is right, any heartbeat goes before none, and a server before none', () => {
  const clusters = new Map<string, Heard>();
  takeYoungest(clusters, [
    answer('not-receiving', [
      { id: 'a', state: 'unreachable', lastHeartbeatAtMs: 1, server: 'hub-1' },
      { id: 'b', state: 'neverSeen' },
    ]),
    answer('hears', [
      { id: 'a', state: 'ready', lastHeartbeatAtMs: 9 },
      { id: 'b', state: 'ready', lastHeartbeatAtMs: 5, server: 'hub-2' },
    ]),
    answer('late', [
      { id: 'a', state: 'suspect', lastHeartbeatAtMs: 3 },
      { id: 'b', state: 'ready', lastHeartbeatAtMs: 4, server: 'hub-3' },
    ]),
  ]);
  expect([...clusters.values()].map(({ id, state, server }) => [id, state, server])).toEqual([
    ['a', 'ready', 'hub-1'],
    ['b', 'ready', 'hub-2'],
  ]);
});

test.each([
  { name: 'one that hears all', parts: [undefined], want: [] },
  { name: 'one part of two', parts: [{ number: 1, count: 2 }], want: ['0/2'] },
  {
    name: 'both parts, one of them twice',
    parts: [
      { number: 1, count: 2 },
      { number: 0, count: 2 },
      { number: 1, count: 2 },
    ],
    want: [],
  },
  { name: 'a part beside one that hears all', parts: [{ number: 1, count: 2 }, undefined], want: [] },
])('$name: nobody answers for $want', ({ parts, want }) => {
  expect(missingParts(parts.map((part) => (part ? { part } : {})))).toEqual(want);
});

describe('of more clusters than one question has', () => {
  const ids = Array.from({ length: mostClustersAtOnce + 1 }, (_, index) => `c${index}`);
  /** @param answersTo - each question, in turn; what is no answer is that nobody listens */
  function busWith(...answersTo: (readonly HeardReply[])[]) {
    const questions = answersTo.values();
    return {
      async requestMany() {
        const answers = questions.next().value ?? [];
        return answers.map((one) => ({ string: () => JSON.stringify(one) }));
      },
    } as unknown as NatsConnection;
  }
  const ofPart = (number: number): HeardReply => ({
    ...answer(`part-${number}`, []),
    part: { number, count: 2 },
  });

  test('it is not said that nobody hears those of a question that nobody answers', async () => {
    const away = busWith([answer('one', [{ id: 'c0', state: 'ready' }])], []);
    await expect(askHeard(away, ids)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  });

  test('a part that answers the first question alone is missing', async () => {
    const { missingParts: parts } = await askHeard(busWith([ofPart(0), ofPart(1)], [ofPart(1)]), ids);
    expect(parts).toEqual(['0/2']);
  });
});

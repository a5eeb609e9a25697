import { expect, test } from 'vitest';
import { heartbeatSubjects, isInPartition, parsePartition } from './heartbeat-partition.ts';

test.each([
  { text: '0/2', want: { number: 0, count: 2 } },
  { text: '15/16', want: { number: 15, count: 16 } },
  { text: '31/32', want: { number: 31, count: 32 } },
  { text: '0/33', want: undefined },
  { text: '2/2', want: undefined },
  { text: '-1/2', want: undefined },
  { text: '1', want: undefined },
  { text: '0/0', want: undefined },
])('"$text" is read as $want', ({ text, want }) => {
  expect(parsePartition(text)).toEqual(want);
});

test('each cluster is in exactly one part, and parts are about as large', () => {
  const sizes = [0, 0, 0, 0];
  for (let index = 0; index < 4000; index++) {
    const of = [0, 1, 2, 3].filter((number) => isInPartition({ number, count: 4 }, `cluster-${index}`));
    expect(of).toHaveLength(1);
    sizes[of[0] ?? 0]!++;
  }
  expect(Math.min(...sizes)).toBeGreaterThan(900);
});

test('without parts everything is heard, also what the server spreads', () => {
  expect(isInPartition(undefined, 'c')).toBe(true);
  expect(heartbeatSubjects(undefined)).toEqual(['rollcall.heartbeat.*', 'rollcall.heartbeat-partition.*.*']);
  expect(heartbeatSubjects({ number: 1, count: 2 })).toEqual([
    'rollcall.heartbeat.*',
    'rollcall.heartbeat-partition.1.*',
  ]);
});

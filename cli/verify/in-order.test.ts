import { expect, test } from 'vitest';
import { inOrder } from './in-order.ts';

async function* part(name: string, ...sequences: readonly number[]) {
  for (const sequence of sequences) yield { sequence, name };
}

test('parts of a history are given in its order, and what two have once', async () => {
  const parts = [part('stream', 2, 5, 6), part('older', 1, 3), part('newer', 4, 5), part('empty')];
  const all = await Array.fromAsync(inOrder(parts));
  expect(all.map(({ sequence, name }) => `${sequence} ${name}`)).toEqual([
    '1 older',
    '2 stream',
    '3 older',
    '4 newer',
    '5 stream',
    '6 stream',
  ]);
});

import { expect, test } from 'vitest';
import { heartbeatsUnheard } from './heartbeats-unheard.ts';

const since = '2026-11-27T12:00:00Z';
const available = (status: string) => [{ type: 'Available', status, lastTransitionTime: since }];

test.each([
  {
    name: 'none is there',
    status: { conditions: available('False') },
    want: `heartbeats since ${since} (no pod`,
  },
  // As Kubernetes has it: none of none is enough.
  { name: 'none is wanted', status: { conditions: available('True') }, want: 'heartbeats (no pod' },
  { name: 'it has just been made', status: {}, want: 'heartbeats (no pod' },
])('heartbeat service, $name: "$want"', ({ status, want }) => {
  expect(heartbeatsUnheard({ status })).toContain(want);
});

test('nothing is said where one replica of two is there', () => {
  const status = { availableReplicas: 1, conditions: available('True') };
  expect(heartbeatsUnheard({ status })).toBeUndefined();
});

import { expect, test } from 'vitest';
import { loadConfig } from '@rollcall/shared/config';
import { heartbeatWanted } from './decision-section.ts';
import { configSchema } from '../config.ts';

const hub = { intervalSeconds: 15, graceSeconds: 45 };

test.each([
  { name: 'nothing', wanted: undefined, want: [15, 45] },
  { name: 'both', wanted: { intervalSeconds: 10, graceSeconds: 10 }, want: [10, 10] },
  { name: 'an interval beyond the grace', wanted: { intervalSeconds: 60 }, want: [60, 180] },
  { name: 'an interval that fits the grace', wanted: { intervalSeconds: 5 }, want: [5, 45] },
  { name: 'a grace that fits the interval', wanted: { graceSeconds: 90 }, want: [15, 90] },
  { name: 'a grace below the interval', wanted: { graceSeconds: 12 }, want: [4, 12] },
  { name: 'the shortest grace', wanted: { graceSeconds: 1 }, want: [1, 1] },
])('of a heartbeat with $name every half fits the other', ({ wanted, want }) => {
  const [intervalSeconds, graceSeconds] = want;
  const got = heartbeatWanted(wanted, hub);
  expect(got).toEqual({ intervalSeconds, graceSeconds });
  // What a person wrote means the same when it is read again beside what came of it.
  expect(heartbeatWanted(wanted, got)).toEqual(got);
});

test('a hub whose grace is shorter than its interval does not start', () => {
  const flags = {
    'heartbeat-interval-seconds': '60',
    kubeconfig: '/k',
    'bus-servers': 'x',
    'bus-ca-file': 'x',
    'identity-file': 'x',
  };
  expect(() => loadConfig(configSchema, { flags, environment: {} })).toThrow(/heartbeatGraceSeconds/);
  const fitting = { ...flags, 'heartbeat-grace-seconds': '60' };
  expect(loadConfig(configSchema, { flags: fitting, environment: {} })).toMatchObject({
    heartbeatGraceSeconds: 60,
  });
});

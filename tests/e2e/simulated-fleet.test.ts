import { clusterRecord } from '@rollcall/shared/events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SimulationReport } from '../../cli/simulate/report/report.ts';
import { type SimulatedOn, startSimulatedHub } from './simulated-hub.ts';

let on: SimulatedOn;
beforeAll(async () => {
  // Nobody waits for an outage of 300 clusters in a test.
  on = await startSimulatedHub({ settings: { heartbeat: { outageMinimum: '5', outageWindow: '10s' } } });
});
afterAll(() => on[Symbol.asyncDispose]());

test('an outage of a group: the guard holds it, agents come back, and afterwards nothing is left', async () => {
  const file = on.scenario(
    'dark',
    `description: a group is dark
heartbeat: { interval: 2s, grace: 6s }
groups: { dark: 50%, bright: 50% }
steps:
  - { at: 1s, do: outage, group: dark, for: 6s }
end: 16s
`,
  );
  const run = await on.simulate(
    '--clusters',
    '40',
    '--real',
    '4',
    '--shown',
    '3',
    '--scenario',
    file,
    '-o',
    'json',
  );
  expect(run, run.stderr).toMatchObject({ code: 0 });
  const report = JSON.parse(run.stdout) as SimulationReport;
  expect(report).toMatchObject({ clusters: 40, silenced: 20, wronged: 0, joins: { count: 4 } });
  expect(report.transitions['joined']).toBe(40);
  expect(report.outages).not.toEqual([]);
  expect(report.heartbeats.sent).toBeGreaterThan(36);
  expect(report.processes.map(({ name }) => name)).toContain('nats-server');
  expect(run.stderr).toContain('went silent together; transitions are held');

  await on.untilNothingIsLeft();
  const everybody = await on.hub.log.readAll('cluster.*.*');
  const ids = new Set(everybody.map(({ id }) => id).filter((id) => id.startsWith('sim-')));
  expect(ids.size).toBe(40);
  for (const id of ids) {
    const { identity } = clusterRecord(await on.hub.log.read({ kind: 'cluster', id }));
    expect(identity?.state).toBe('left');
  }
});

test('all leave while others join: the hub itself ends each leaving, and joins then stand apart', async () => {
  const file = on.scenario(
    'exodus',
    `description: all leave
heartbeat: { interval: 2s, grace: 6s }
steps:
  - { at: 0s, do: grow, share: 10%, over: 1s, agents: own }
  - { at: 4s, do: leave }
  - { at: 4s, do: grow, share: 10%, over: 1s, agents: own }
# Until then a busy machine has them in.
end: 24s
`,
  );
  const run = await on.simulate('--clusters', '30', '--shown', '5', '--scenario', file, '-o', 'json');
  expect(run, run.stderr).toMatchObject({ code: 0 });
  const report = JSON.parse(run.stdout) as SimulationReport;
  expect(report).toMatchObject({
    joins: { count: 3 },
    joinsWhileLeaving: { count: 3 },
    leavings: { begun: 30 },
    wronged: 0,
  });
  expect(report.leavings?.ended).toBeGreaterThan(0);
  await on.untilNothingIsLeft();
});

import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterRecord, joined } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import type { SimulationReport } from '../../cli/simulate/report/report.ts';
import { openSimulatorBus } from '../../cli/simulate/clusters/simulator-bus.ts';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  // Nobody waits for an outage of 300 clusters in a test.
  hub = await startTestEmbeddedHub({ settings: { heartbeat: { outageMinimum: '5', outageWindow: '10s' } } });
  copyFileSync(hub.up.plane.adminKubeconfigPath, join(hub.up.stateDir, 'kubeconfig'));
});
afterAll(() => hub[Symbol.asyncDispose]());

function simulate(...args: string[]) {
  return runCli(['simulate', ...args], { environment: { ROLLCALL_HOME: hub.up.stateDir } });
}

function scenario(name: string, text: string): string {
  const path = join(hub.up.stateDir, `${name}.yaml`);
  writeFileSync(path, text);
  return path;
}

async function simulated(kind: typeof resources.managedClusters): Promise<unknown[]> {
  const all = await hub.up.admin.list(kind);
  return all.filter(({ metadata }) => metadata.name.startsWith('sim-'));
}

function untilNothingIsLeft(): Promise<unknown> {
  return until('no simulated cluster is left', async () => {
    const left = await Promise.all([
      simulated(resources.managedClusters),
      simulated(resources.clusterRegistrationRequests),
      simulated(resources.clusterRegistrationTokens),
    ]);
    return left.flat().length === 0;
  });
}

test('an outage of a group: the guard holds it, agents come back, and afterwards nothing is left', async () => {
  const file = scenario(
    'dark',
    `description: a group is dark
heartbeat: { interval: 2s, grace: 6s }
groups: { dark: 50%, bright: 50% }
steps:
  - { at: 1s, do: outage, group: dark, for: 6s }
end: 16s
`,
  );
  const run = await simulate(
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

  await untilNothingIsLeft();
  const everybody = await hub.log.readAll('cluster.*.*');
  const ids = new Set(everybody.map(({ id }) => id).filter((id) => id.startsWith('sim-')));
  expect(ids.size).toBe(40);
  for (const id of ids) {
    const { identity } = clusterRecord(await hub.log.read({ kind: 'cluster', id }));
    expect(identity?.state).toBe('left');
  }
});

test('all leave while others join: the hub itself ends each leaving, and joins then stand apart', async () => {
  const file = scenario(
    'exodus',
    `description: all leave
heartbeat: { interval: 2s, grace: 6s }
steps:
  - { at: 0s, do: grow, share: 10%, over: 1s, agents: own }
  - { at: 4s, do: leave }
  - { at: 4s, do: grow, share: 10%, over: 1s, agents: own }
end: 12s
`,
  );
  const run = await simulate('--clusters', '30', '--shown', '5', '--scenario', file, '-o', 'json');
  expect(run, run.stderr).toMatchObject({ code: 0 });
  const report = JSON.parse(run.stdout) as SimulationReport;
  expect(report).toMatchObject({
    joins: { count: 3 },
    joinsWhileLeaving: { count: 3 },
    leavings: { begun: 30 },
    wronged: 0,
  });
  expect(report.leavings?.ended).toBeGreaterThan(0);
  await untilNothingIsLeft();
});

test('who interrupts it while agents register gets a report, and nothing is left', async () => {
  const file = scenario('long', 'description: many agents\nend: 60s\nsteps: []\n');
  const args = ['simulate', '--clusters', '2000', '--real', '2000', '--rate', '1', '--scenario', file];
  await using run = startCli(args, { environment: { ROLLCALL_HOME: hub.up.stateDir } });
  await until('an agent has asked', async () => {
    return (await simulated(resources.clusterRegistrationRequests)).length > 0;
  });
  run.child.kill('SIGINT');
  const { code, stdout, stderr } = await run.result;
  expect({ code }, stderr).toEqual({ code: 0 });
  expect(stdout).toContain('2,000 clusters');
  expect(stderr).toContain('interrupted while clusters registered');
  await untilNothingIsLeft();
});

test('a mistake in the scenario, and no hub, are told before anything is done', async () => {
  const file = scenario('bad', 'description: x\nend: 5s\nsteps:\n  - { at: 1s, do: outge, for: 1s }\n');
  const bad = await simulate('--clusters', '10', '--scenario', file);
  expect(bad.code).toBe(2);
  expect(bad.stderr).toMatch(/bad\.yaml:4:19: do: .*'outage'/);
  const good = scenario('good', 'description: x\nend: 1s\nsteps: []\n');
  expect((await simulate('--clusters', 'many', '--scenario', good)).code).toBe(2);
  const nowhere = await runCli(['simulate', '--clusters', '10', '--scenario', good]);
  expect(nowhere.stderr).toContain('code: HUB_MISSING');
});

test('who simulates can neither send heartbeats nor speak for a cluster that is not made up', async () => {
  const connections = await openSimulatorBus({
    stateDir: hub.up.stateDir,
    hub: hub.up.hub,
    address: hub.up.natsAddress,
    clusterIds: ['sim-a-1', 'sim-a-2'],
  });
  const [connection] = connections;
  if (!connection) throw new Error('no connection');
  const heartbeat = 'rollcall.heartbeat.sim-a-1';
  const event = `rollcall.events.cluster.sim-a-2.${joined.type}`;
  const nobodys = [
    'rollcall.heartbeat.real',
    'rollcall.heartbeat-partition.1.real',
    'rollcall.events.cluster.real.approved',
    'rollcall.events.token.sim-a-1.declared',
    'rollcall.events.hub.liveness.outage',
    ...jetStreamSubjects('STREAM.PURGE.EVENTS'),
    'rollcall.request.UKEY.join',
  ];
  for (const { nc, allowed, forbidden } of [
    { nc: connection.heartbeats, allowed: heartbeat, forbidden: [...nobodys, event] },
    // Where something is answered there are no heartbeats: an answer could be one of another cluster.
    { nc: connection.history, allowed: event, forbidden: [...nobodys, heartbeat] },
  ]) {
    const refused: string[] = [];
    const watching = (async () => {
      for await (const status of nc.status()) if (status.type === 'error') refused.push(status.error.message);
    })();
    for (const subject of [...forbidden, allowed]) nc.publish(subject, '', { reply: 'nobody' });
    await nc.flush();
    await until('everything forbidden is refused', async () => refused.length >= forbidden.length);
    for (const subject of forbidden) expect(refused.some((text) => text.includes(`"${subject}"`))).toBe(true);
    expect(refused.some((text) => text.includes(`"${allowed}"`))).toBe(false);
    await nc.close();
    await watching;
  }
});

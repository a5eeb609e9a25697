import { joined } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import { openSimulatorBus } from '../../cli/simulate/clusters/simulator-bus.ts';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { until } from '../harness/embedded.ts';
import { type SimulatedOn, startSimulatedHub } from './simulated-hub.ts';

let on: SimulatedOn;
beforeAll(async () => {
  on = await startSimulatedHub();
});
afterAll(() => on[Symbol.asyncDispose]());

test('who interrupts it while agents register gets a report, and nothing is left', async () => {
  const file = on.scenario('long', 'description: many agents\nend: 60s\nsteps: []\n');
  const args = ['simulate', '--clusters', '2000', '--real', '2000', '--rate', '1', '--scenario', file];
  await using run = startCli(args, { environment: { ROLLCALL_HOME: on.hub.up.stateDir } });
  await until('an agent has asked', async () => {
    return (await on.simulated(resources.clusterRegistrationRequests)).length > 0;
  });
  run.child.kill('SIGINT');
  const { code, stdout, stderr } = await run.result;
  expect({ code }, stderr).toEqual({ code: 0 });
  expect(stdout).toContain('2,000 clusters');
  expect(stderr).toContain('interrupted while clusters registered');
  await on.untilNothingIsLeft();
});

test('a mistake in the scenario, and no hub, are told before anything is done', async () => {
  const file = on.scenario('bad', 'description: x\nend: 5s\nsteps:\n  - { at: 1s, do: outge, for: 1s }\n');
  const bad = await on.simulate('--clusters', '10', '--scenario', file);
  expect(bad.code).toBe(2);
  expect(bad.stderr).toMatch(/bad\.yaml:4:19: do: .*'outage'/);
  const good = on.scenario('good', 'description: x\nend: 1s\nsteps: []\n');
  expect((await on.simulate('--clusters', 'many', '--scenario', good)).code).toBe(2);
  const nowhere = await runCli(['simulate', '--clusters', '10', '--scenario', good]);
  expect(nowhere.stderr).toContain('code: HUB_MISSING');
});

test('who simulates can neither send heartbeats nor speak for a cluster that is not made up', async () => {
  const connections = await openSimulatorBus({
    stateDir: on.hub.up.stateDir,
    hub: on.hub.up.hub,
    address: on.hub.up.natsAddress,
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

import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { until } from '../harness/embedded.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';
import { deleteHistory } from './delete-history.ts';

const system = 'rollcall-system';

let hub: ChartHub;
beforeAll(async () => {
  hub = await startChartHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

test('a hub in pods that has lost its history goes on in a new epoch by its keys, and only then', async () => {
  const installed = await hub.install('--advertise', hub.address);
  expect(installed.code, installed.stderr).toBe(0);
  const { caCertHash } = openHubFiles(hub.keys).read('hub');
  const environment = { ROLLCALL_TOKEN: await hub.createToken() };
  const member = ['--member-kubeconfig', hub.plane.plane.adminKubeconfigPath, '--client-id', 'own'];
  const flags = ['--ca-cert-hash', caCertHash, '--cluster-name', 'own', '--run', ...member];
  await using agent = startCli(['register', hub.address, ...flags], { environment });
  const asked = await until('it asks', async () => (await hub.rollcall('approve', 'own')).code === 0);
  expect(asked).toBe(true);
  await hub.readiness('own', 'True');
  const { hubId } = openHubFiles(hub.keys).read('hub');
  const accept = (id: string) => hub.rollcall('restore', '--accept-loss', id, '--keys', hub.keys);
  const early = await accept(hubId);
  expect(early.stderr).toContain('the history of this hub is not lost');
  expect(early.code).toBe(2);
  expect(openHubFiles(hub.keys).read('hub').epoch).toBe(1);

  await deleteHistory(hub);
  const status = await until('the hub says so', async () => {
    const { stdout } = await hub.rollcall('status');
    return stdout.includes('HISTORY_LOST') && stdout;
  });
  // What is printed there is what helps here.
  const [, line = ''] = /`rollcall (restore --accept-loss HUB-ID --keys DIR)`/.exec(status) ?? [];
  expect((await accept('another')).stderr).toContain('code: HUB_WRONG');
  const accepted = await until('every service says so', async () => {
    const words = line.replace('HUB-ID', hubId).replace('DIR', hub.keys).split(' ');
    const result = await hub.rollcall(...words);
    return result.code !== 2 && result;
  });
  expect(accepted.code, accepted.stderr).toBe(0);
  expect(accepted.stdout).toContain('epoch 2 begins after event 0');
  await hub.untilAllRun();
  const told = await hub.plane.admin.get<KubeObject & { data: Record<string, string> }>(
    resources.configMaps,
    {
      name: 'rollcall-hub',
      namespace: system,
    },
  );
  expect(told?.data['epoch']).toBe('2');
  await until('the hub has its new history', async () => {
    const { stdout } = await hub.rollcall('events', '--type', 'restored');
    return stdout.includes('LossAccepted');
  });
  await until('the hub says nothing of a loss any more', async () => {
    const { stdout } = await hub.rollcall('status');
    return stdout !== '' && !stdout.includes('HISTORY_LOST');
  });
  // Who came after what is left asks again by itself, and a person decides.
  await until('the agent asked again', async () => (await hub.rollcall('approve', 'own')).code === 0);
  await hub.readiness('own', 'True');
  agent.child.kill('SIGTERM');
  await agent.result;
});

import { expect, test } from 'vitest';
import { startCli } from '../../cli/tests/run-cli.ts';
import { conditionOf, until } from '../harness/embedded.ts';
import { startChartHub } from './chart-hub.ts';

test('all-in-one that is killed once its agent has asked is finished by the same command', async () => {
  await using hub = await startChartHub();
  const values = ['--hub-values', hub.valuesFile, '--keys', hub.keys, '--cluster-name', 'own'];
  const command = ['install', 'all-in-one', '--advertise', hub.address, ...values, '--timeout', '4m'];
  await using killed = startCli([...command, '--kubeconfig', hub.plane.plane.adminKubeconfigPath]);
  await killed.line(/the agent runs/);
  killed.child.kill('SIGKILL');
  await until('it waits for a person', async () => {
    const cluster = await hub.cluster('own');
    return cluster && conditionOf(cluster, 'Ready')?.reason === 'Held';
  });
  const again = await hub.rollcall(...command);
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout).toContain('cluster "own" is Ready on its own hub');
});

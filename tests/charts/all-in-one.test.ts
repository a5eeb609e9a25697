import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestControlPlane } from '../harness/control-plane.ts';
import { startChartRunner } from './chart-runner.ts';
import { oneMachine } from './one-machine.ts';

test('one command puts hub and agent into one cluster, let in by the person who does it; again it changes nothing [RO-1] [RO-2]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-all-in-one-'));
  await using plane = await startTestControlPlane({ withControllerManager: true, withManifests: false });
  await using hub = startChartRunner(plane.admin, 'rollcall-system');
  await using agent = startChartRunner(plane.admin, 'rollcall-agent');
  const { address, valuesFile } = await oneMachine(folder);
  const flags = `--kubeconfig ${plane.plane.adminKubeconfigPath} --keys ${join(folder, 'keys')} --advertise ${address}`;
  const more = `--hub-values ${valuesFile} --cluster-name own --timeout 4m`;
  const install = () => runCli(`install all-in-one ${flags} ${more}`.split(' '));
  const first = await install();
  expect(
    first.code,
    `${first.stderr}\n${hub.log('rollcall-registrar')}\n${agent.log('rollcall-agent')}`,
  ).toBe(0);
  expect(first.stdout).toContain('cluster "own" is Ready on its own hub');
  const own = await plane.admin.get<ManagedCluster>(resources.managedClusters, { name: 'own' });
  expect(own?.status?.decision?.by).toBe('rollcall-admin');

  const second = await install();
  expect(second.code, second.stderr).toBe(0);
  expect(second.stdout).toContain('cluster "own" is Ready on its own hub');
  rmSync(folder, { recursive: true, force: true });
});

import { expect, test } from 'vitest';
import { startChartHub } from './chart-hub.ts';

test('one command puts hub and agent into one cluster, let in by the person who does it; again it changes nothing [RO-1] [RO-2]', async () => {
  await using hub = await startChartHub();
  const flags = ['--advertise', hub.address, '--hub-values', hub.valuesFile, '--keys', hub.keys];
  const install = () =>
    hub.rollcall('install', 'all-in-one', ...flags, '--cluster-name', 'own', '--timeout', '4m');
  const first = await install();
  expect(first.code, first.stderr).toBe(0);
  expect(first.stdout).toContain('cluster "own" is Ready on its own hub');
  expect((await hub.cluster('own'))?.status?.decision?.by).toBe('rollcall-admin');

  const second = await install();
  expect(second.code, second.stderr).toBe(0);
  expect(second.stdout).toContain('cluster "own" is Ready on its own hub');
});

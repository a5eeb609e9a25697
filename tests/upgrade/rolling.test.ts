import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliResult, runCli, type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import type { ChildHandle } from '../../cli/up/process/child-process.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { serviceNames, startServiceProcess, stopAll } from '../harness/service-process.ts';
import { unpackRelease, type UnpackedRelease } from './recorded-release.ts';

let release: UnpackedRelease;
let hub: TestEmbeddedHub;
let base: string;
const agents = new Map<string, RunningCli>();
let services: { older: ChildHandle[]; newer: ChildHandle[] } = { older: [], newer: [] };

beforeAll(async () => {
  release = unpackRelease();
  base = mkdtempSync(join(tmpdir(), 'rollcall-rolling-'));
  hub = await startTestEmbeddedHub({ withServices: false });
  copyFileSync(hub.up.plane.adminKubeconfigPath, join(hub.up.stateDir, 'kubeconfig'));
});
afterAll(async () => {
  for (const agent of agents.values()) await agent[Symbol.asyncDispose]();
  await stopAll([...services.older, ...services.newer]);
  await hub[Symbol.asyncDispose]();
  release[Symbol.dispose]();
  rmSync(base, { recursive: true, force: true });
});

const startOlder = () =>
  Promise.all(
    serviceNames.map((name) => startServiceProcess(hub.up, name, { replica: 1, cliMain: release.cliMain })),
  );
const startNewer = () =>
  Promise.all(serviceNames.map((name) => startServiceProcess(hub.up, name, { replica: 2 })));

/** An agent of each version, in a process of its own as `rollcall agent run` is. */
async function expectBothJoin(when: string): Promise<void> {
  for (const [version, entry] of [['older', release.cliMain], ['newer']] as const) {
    const name = `${version}-${when}`;
    const member = ['--member-kubeconfig', hub.up.plane.adminKubeconfigPath, '--client-id', name];
    const at = ['--hub', hub.up.addresses[0] ?? '', '--ca-cert-hash', hub.up.hub.caCertHash];
    const own = ['--cluster-name', name, '--state-dir', join(base, name)];
    const environment = { ROLLCALL_TOKEN: (await hub.createToken()).text };
    const agent = startCli(['agent', 'run', ...member, ...at, ...own], {
      environment,
      ...(entry === undefined ? {} : { entry }),
    });
    agents.set(name, agent);
  }
  for (const version of ['older', 'newer']) {
    const cluster = await hub.untilReady(`${version}-${when}`);
    expect(cluster.status?.kubernetesVersion).toBe('v1.36.3');
  }
}

const rollcall = (...args: string[]): Promise<CliResult> =>
  runCli(args, { environment: { ROLLCALL_HOME: hub.up.stateDir } });

test('services of both versions side by side let agents of both in', async () => {
  const [older, newer] = await Promise.all([startOlder(), startNewer()]);
  services = { older, newer };
  await expectBothJoin('beside');
});

test('older services alone do, with kinds, rights and streams of this version: an upgrade can go back', async () => {
  await stopAll(services.newer);
  await expectBothJoin('back');
});

test('newer services alone do, and who came in before is still there, takes a new key and leaves', async () => {
  services.newer = await startNewer();
  await stopAll(services.older);
  await expectBothJoin('upgraded');
  for (const when of ['beside', 'back', 'upgraded'])
    for (const version of ['older', 'newer']) {
      const name = `${version}-${when}`;
      const rotated = await rollcall('rotate', name);
      expect(rotated.code, `${name}: ${rotated.stderr}`).toBe(0);
      await hub.untilReady(name);
    }
  for (const version of ['older', 'newer']) {
    const left = await rollcall('unregister', `${version}-beside`);
    expect(left.code, left.stderr).toBe(0);
    const ended = await agents.get(`${version}-beside`)?.result;
    expect(ended?.code, ended?.stderr).toBe(0);
    await until('it is gone', async () => (await hub.cluster(`${version}-beside`)) === undefined);
  }
  expect((await rollcall('dead', 'list')).stderr).toContain('No dead letters.');
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directoryKeyStore } from '@rollcall/agent';
import { openEventLog } from '@rollcall/shared/bus';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { statefulSets } from '../../cli/install/workloads.ts';
import { type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { until } from '../harness/embedded.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';

const system = 'rollcall-system';
const hourMs = 3_600_000;

let hub: ChartHub;
let installFlags: string[] = [];
/** Processes of agents that came by a command that was printed, by name. */
const agents: RunningCli[] = [];
beforeAll(async () => {
  hub = await startChartHub();
  // Agents renew while the test looks.
  const env = [{ name: 'ROLLCALL_MEMBER_LIFE', value: '60s' }];
  const valuesFile = join(hub.folder, 'short-lives.yaml');
  writeFileSync(valuesFile, stringify({ services: { registrar: { env } } }));
  installFlags = ['--values', valuesFile];
  const installed = await hub.install('--advertise', hub.address, ...installFlags);
  if (installed.code !== 0) throw new Error(installed.stderr);
  await onceServed(() => applyManifests(hub.plane.admin, manifestsIn('embedded')));
  await joins('own');
});
afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

const files = () => openHubFiles(hub.keys);
const rotate = (key: string, ...flags: string[]) =>
  hub.rollcall('trust', 'rotate', key, '--keys', hub.keys, ...flags);

async function takeStep(key: string, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await rotate(key, ...flags);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** The command is killed, without warning, when it says this. */
async function isKilledAt(line: RegExp, key: string, ...flags: string[]): Promise<void> {
  const kubeconfig = ['--kubeconfig', hub.plane.plane.adminKubeconfigPath];
  await using command = startCli(['trust', 'rotate', key, '--keys', hub.keys, ...kubeconfig, ...flags]);
  await command.line(line);
  command.child.kill('SIGKILL');
  expect((await command.result).code).toBe(null);
}

const directoryOf = (name: string) => join(hub.folder, 'agents', name);

/** A new member that knows the hub by what is handed out now. */
async function joins(name: string): Promise<void> {
  const { caCertHash } = files().read('hub');
  const environment = { ROLLCALL_TOKEN: await hub.createToken() };
  const member = ['--member-kubeconfig', hub.plane.plane.adminKubeconfigPath, '--client-id', name];
  const pins = caCertHash.split(',').flatMap((pin) => ['--ca-cert-hash', pin]);
  const flags = [...pins, '--cluster-name', name, '--run', '--state-dir', directoryOf(name), ...member];
  agents.push(startCli(['register', hub.address, ...flags], { environment }));
  await hub.readiness(name, 'True');
}

/** Who was ever said to be unreachable, in all of the history. */
async function unreachable(): Promise<string[]> {
  const nc = await connectAsInspector(hub.keys, { ...files().address, servers: [hub.address] });
  try {
    const log = await openEventLog(nc, { epoch: 1, source: '/rollcall/test' });
    const events = await Array.fromAsync(log.scan({ filter: 'cluster.>' }));
    return events.filter(({ type }) => type === 'unreachable').map(({ id }) => id);
  } finally {
    await nc.close();
  }
}

interface NatsPods {
  readonly template: { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } };
}
/** Changes when servers are started anew. */
async function serversHave(): Promise<string | undefined> {
  const where = { name: 'rollcall-nats', namespace: system };
  const found = await hub.plane.admin.get<KubeObject<NatsPods>>(statefulSets, where);
  return found?.spec?.template.metadata.annotations['rollcall.dev/keys'];
}

async function hubInfo(): Promise<Readonly<Record<string, string>>> {
  const where = { name: 'rollcall-hub', namespace: system };
  type Info = KubeObject & { data: Readonly<Record<string, string>> };
  return (await hub.plane.admin.get<Info>(resources.configMaps, where))?.data ?? {};
}

async function hubIsWhole(): Promise<void> {
  await hub.untilAllRun();
  await hub.readiness('own', 'True');
  expect(await unreachable()).toEqual([]);
}

/** Nothing of it restarts the servers, once all of it is there. */
async function isInstalledAlready(): Promise<void> {
  const before = await serversHave();
  const again = await hub.install(...installFlags);
  expect(again.code, again.stderr).toBe(0);
  expect(await serversHave()).toBe(before);
}

test('the operator key of a hub in pods is replaced, also by a command that was killed, and its servers have the list', async () => {
  const before = await serversHave();
  const { operatorJwt } = files().read('hub');
  await isKilledAt(/servers take their new files/, 'operator-keys');
  expect(files().read('hub').rotations).toMatchObject({ 'operator-keys': { stage: 'switched' } });
  const { operatorSigners } = files().read('offline');
  expect(await takeStep('operator-keys')).toContain('the servers have a list without the former one');
  // It was finished, and none was made anew.
  expect(files().read('offline').operatorSigners).toEqual(operatorSigners);
  expect(files().read('hub').rotations).not.toHaveProperty('operator-keys');
  expect(files().read('hub').operatorJwt).not.toBe(operatorJwt);
  expect(await serversHave()).not.toBe(before);
  await hubIsWhole();
  // Twice: by then every key of the beginning is gone.
  await takeStep('operator-keys');
  await hubIsWhole();
  await joins('after-operator-keys');
  await isInstalledAlready();
});

test('the CA of a hub in pods is replaced, also by commands that were killed, and agents and newcomers follow', async () => {
  const { caPem: former } = files().read('hub');
  const before = await serversHave();
  await isKilledAt(/servers take their new files/, 'ca');
  const { caPem: both } = files().read('hub');
  expect(await takeStep('ca')).toContain('the next CA is announced');
  expect(files().read('hub').caPem).toBe(both);
  const { caCertHash, rotations } = files().read('hub');
  expect(await hubInfo()).toMatchObject({ caCertHash, caBundle: both });
  // A single server knows itself by its own certificate: nothing of it has changed.
  expect(await serversHave()).toBe(before);
  const early = await rotate('ca');
  expect(early.stderr).toContain('code: ROTATION_NOT_DUE');
  await joins('knows-both');
  await hubIsWhole();

  // Its day is over, and the kubelet has brought the Secrets.
  const ca = { stage: 'announced', atMs: Date.now() - 26 * hourMs } as const;
  files().change('hub', (state) => ({ ...state, rotations: { ...rotations, ca } }));
  const next = both.slice(former.length);
  for (const name of ['own', 'after-operator-keys', 'knows-both']) {
    const knows = async () => (await directoryKeyStore(directoryOf(name)).load())?.hubCaPem;
    await until(`${name} has heard of the next CA`, async () => (await knows()) === both, {
      withinMs: 120_000,
    });
  }

  await isKilledAt(/servers take their new files/, 'ca');
  expect(files().read('hub')).toMatchObject({ caPem: both, rotations: { ca: { stage: 'switched' } } });
  expect(await takeStep('ca')).toContain('the server shows a certificate of the next CA');
  expect(files().read('hub')).toMatchObject({ caPem: next, rotations: {} });
  expect(await hubInfo()).toMatchObject({ caBundle: next });
  expect(await serversHave()).not.toBe(before);
  await hubIsWhole();
  await hub.readiness('knows-both', 'True');
  await joins('knows-next');
  await isInstalledAlready();
  await hubIsWhole();
});

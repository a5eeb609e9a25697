import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEventLog } from '@rollcall/shared/bus';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';

const system = 'rollcall-system';
const older = '0.0.9';

let hub: ChartHub;
beforeAll(async () => {
  hub = await startChartHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** A chart as its version before could have been: with an object that is gone by now, without one that came since. */
function chartBefore(name: string): string {
  const chart = join(hub.folder, name);
  cpSync(join(import.meta.dirname, '..', '..', 'deploy', 'charts', name), chart, { recursive: true });
  const about = join(chart, 'Chart.yaml');
  writeFileSync(about, readFileSync(about, 'utf8').replaceAll(rollcallVersion, older));
  rmSync(join(chart, 'templates', 'network-policy.yaml'));
  const services = join(chart, 'templates', 'services.yaml');
  if (existsSync(services))
    writeFileSync(
      services,
      readFileSync(services, 'utf8').replace(/  strategy: { type: RollingUpdate.*/, ''),
    );
  const metadata = '{ name: rollcall-former, namespace: {{ .Release.Namespace }} }';
  const former = `apiVersion: v1\nkind: ConfigMap\nmetadata: ${metadata}\n`;
  writeFileSync(join(chart, 'templates', 'former.yaml'), former);
  return chart;
}

const versionOf = async (name: string, namespace: string) =>
  (await hub.plane.admin.get<KubeObject>(resources.deployments, { name, namespace }))?.metadata.labels?.[
    'app.kubernetes.io/version'
  ];
const hasFormer = async (namespace: string) =>
  (await hub.plane.admin.get(resources.configMaps, { name: 'rollcall-former', namespace })) !== undefined;

/** What the hub has written, in order. */
async function history(): Promise<string[]> {
  const nc = await connectAsInspector(hub.keys, {
    ...openHubFiles(hub.keys).address,
    servers: [hub.address],
  });
  try {
    const log = await openEventLog(nc, { epoch: 1, source: '/rollcall/test' });
    const events = await Array.fromAsync(log.scan({ filter: '>' }));
    return events.map(({ sequence, type }) => `${sequence} ${type}`);
  } finally {
    await nc.close();
  }
}

let given: object;

test('charts of the version before become those of this one: keys, history and members stay [RO-1]', async () => {
  given = (await hub.makeKeys()).values;
  const installed = await hub.chart(['install', 'hub'], chartBefore('hub'), given);
  expect(installed.code, installed.stderr).toBe(0);
  await hub.untilAllRun();
  const agentValues = await hub.installAgent('own', { chart: chartBefore('agent') });
  const key = (await hub.cluster('own'))?.status?.keyFingerprint;
  expect(await versionOf('rollcall-registrar', system)).toBe(older);
  const before = await history();

  for (const [upgrade, name, namespace] of [
    [() => hub.chart(['upgrade', 'hub'], 'hub', given), 'rollcall-registrar', system],
    [() => hub.chart(['upgrade', 'agent'], 'agent', agentValues), 'rollcall-agent', 'rollcall-agent'],
  ] as const) {
    const upgraded = await upgrade();
    expect(upgraded.code, upgraded.stderr).toBe(0);
    expect(await versionOf(name, namespace)).toBe(rollcallVersion);
    expect(await hasFormer(namespace)).toBe(false);
    await hub.untilAllRun();
    expect((await hub.readiness('own', 'True')).status?.keyFingerprint).toBe(key);
  }
  expect((await history()).slice(0, before.length)).toEqual(before);

  const back = await hub.release(['rollback', 'hub', '1'], 'hub');
  expect(back.code, back.stderr).toBe(0);
  expect(await versionOf('rollcall-registrar', system)).toBe(older);
  await hub.untilAllRun();
  expect((await hub.readiness('own', 'True')).status?.keyFingerprint).toBe(key);
});

test('another release over it, and one without Helm, are refused in words that help', async () => {
  const other = await hub.chart(['install', 'second'], 'hub', given);
  expect(other.code).not.toBe(0);
  expect(other.stderr).toContain('release "hub" of Helm is installed here; upgrade it by that name');
  const ours = await hub.install();
  expect(ours.code).toBe(3);
  expect(ours.stderr).toContain('belongs to release "hub" of Helm');
});

test('what is left of a release that is half removed belongs to it until Helm has forgotten it [RO-1]', async () => {
  const key = (await hub.cluster('own'))?.status?.keyFingerprint;
  const releases = async () =>
    hub.plane.admin.list<KubeObject>(resources.secrets, { namespace: system, labelSelector: 'owner=helm' });
  const newest = (await releases()).find(({ metadata }) => metadata.labels?.['status'] === 'deployed');
  const uninstalling = { metadata: { labels: { status: 'uninstalling' } } };
  await hub.plane.admin.mergePatch(resources.secrets, newest?.metadata.name ?? '', uninstalling, {
    namespace: system,
  });
  await hub.plane.admin.delete(resources.deployments, 'rollcall-registrar', { namespace: system });
  const refused = await hub.install();
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain('belongs to release "hub" of Helm, which is uninstalling');

  for (const { metadata } of await releases())
    await hub.plane.admin.delete(resources.secrets, metadata.name, { namespace: system });
  const installed = await hub.install();
  expect(installed.code, installed.stderr).toBe(0);
  expect((await hub.readiness('own', 'True')).status?.keyFingerprint).toBe(key);
  expect(await versionOf('rollcall-projector', system)).toBe(rollcallVersion);
});

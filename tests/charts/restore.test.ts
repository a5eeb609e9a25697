import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { jetstream } from '@nats-io/jetstream';
import { connectBus, refillStream } from '@rollcall/shared/bus';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkBackup } from '../../cli/backup/read-backup.ts';
import { asMessages } from '../../cli/backup/stream-messages.ts';
import { temporaryUser } from '../../cli/backup/temporary-user.ts';
import { type CliResult, type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import { openHubAnywhere } from '../../cli/install/hub/hub-in-pods.ts';
import { statefulSets } from '../../cli/install/workloads.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { exitCodes } from '../../cli/exit-code.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { restoreNote } from '../../cli/up/state/half-restored.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { makeStreams, setupUser } from '../../cli/up/nats/nats-server.ts';
import { until } from '../harness/embedded.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';
import { deleteHistory } from './delete-history.ts';

const system = 'rollcall-system';

let hub: ChartHub;
const agents: RunningCli[] = [];
let file: string;
let sealed: string[];
beforeAll(async () => {
  hub = await startChartHub();
  const installed = await hub.install('--advertise', hub.address);
  if (installed.code !== 0) throw new Error(installed.stderr);
  await onceServed(() => applyManifests(hub.plane.admin, manifestsIn('embedded')));
  agents.push(await joins('own'), await joins('leaver'));
  file = join(hub.folder, 'hub.backup');
  const passphrase = join(hub.folder, 'passphrase');
  writeFileSync(passphrase, 'correct horse battery staple');
  sealed = ['--passphrase-file', passphrase];
  const kept = await hub.rollcall('backup', file, '--keys', hub.keys, ...sealed);
  if (kept.code !== 0) throw new Error(kept.stderr);
});
afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

async function joins(name: string): Promise<RunningCli> {
  const { caCertHash } = openHubFiles(hub.keys).read('hub');
  const environment = { ROLLCALL_TOKEN: await hub.createToken() };
  const member = ['--member-kubeconfig', hub.plane.plane.adminKubeconfigPath, '--client-id', name];
  const state = ['--state-dir', join(hub.folder, name)];
  const flags = ['--ca-cert-hash', caCertHash, '--cluster-name', name, '--run', ...state, ...member];
  const agent = startCli(['register', hub.address, ...flags], { environment });
  await hub.readiness(name, 'True');
  return agent;
}

const restoreArgs = (keys: string, ...more: string[]) => [
  'restore',
  file,
  '--keys',
  keys,
  ...sealed,
  ...more,
];

function succeeded({ code, stdout, stderr }: CliResult): string {
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** Services that run would write into what is there. */
async function servicesHaveIdentities(where = hub): Promise<boolean> {
  const all = await where.plane.admin.list<KubeObject>(resources.secrets, { namespace: system });
  return all.some(({ metadata }) => metadata.name.startsWith('rollcall-identity-'));
}

async function writeSomethingElse(): Promise<void> {
  const state = openHubFiles(hub.keys).read('hub');
  const address = { servers: [hub.address], caPem: state.caPem };
  await makeStreams(address, setupUser(hub.keys), 1);
  const nc = await connectBus(address, temporaryUser(hub.keys, state, 'restore'), 'restore');
  await jetstream(nc).publish('rollcall.events.hub.other.gap', '');
  await nc.close();
}

async function writeBeginning(): Promise<void> {
  const state = openHubFiles(hub.keys).read('hub');
  const address = { servers: [hub.address], caPem: state.caPem };
  await makeStreams(address, setupUser(hub.keys), 1);
  const nc = await connectBus(address, temporaryUser(hub.keys, state, 'restore'), 'restore');
  const { messages } = await checkBackup(file);
  const some = (await Array.fromAsync(asMessages(messages('EVENTS')))).slice(0, 5);
  await refillStream(nc, Readable.from(some), { sameSequences: true });
  await nc.close();
}

test('the history of a hub in pods is not replaced while there is one', async () => {
  const refused = await hub.rollcall(...restoreArgs(hub.keys));
  expect(refused.stderr).toContain('code: STATE_NOT_EMPTY');
  const goesOn = await hub.rollcall(...restoreArgs(hub.keys, '--keep-kubernetes'));
  expect(goesOn.stderr).toContain('the history of this hub is not lost');
  expect(await servicesHaveIdentities()).toBe(true);
  await hub.readiness('own', 'True');
});

test('who was put out after the backup stays out by the list of the servers, where nothing else shows it', async () => {
  succeeded(await hub.rollcall('unregister', 'leaver'));
  await until('nothing shows it', async () => (await hub.cluster('leaver')) === undefined);
  await deleteHistory(hub);
  const restored = await until('every service says that it is lost', async () => {
    const { code, stdout } = await hub.rollcall(...restoreArgs(hub.keys, '--keep-kubernetes'));
    return code === 0 && stdout;
  });
  expect(restored).toContain('epoch 2 begins');
  await hub.untilAllRun();
  await hub.readiness('own', 'True');
  const out = await until('the key is out', async () => {
    const { stdout } = await hub.rollcall('events', '--type', 'revoked', '-o', 'json');
    return stdout.includes('RestoredFromRevocations') && stdout;
  });
  expect(out).toContain('"subject":"leaver"');
});

test('where only the keys are lost, a backup puts them back, and the hub goes on', async () => {
  const again = join(hub.folder, 'found-again');
  expect(succeeded(await hub.rollcall(...restoreArgs(again)))).toContain('nothing else was changed');
  expect(await servicesHaveIdentities()).toBe(true);
  expect(openHubFiles(again).read('hub')).toMatchObject({ epoch: openHubFiles(hub.keys).read('hub').epoch });
  succeeded(await hub.rollcall('install', 'hub', '--keys', again, '--values', hub.valuesFile));
  succeeded(await hub.install());
  await hub.readiness('own', 'True');
});

test('nothing is stopped where servers have another history, and nobody gets an identity once a restore has begun', async () => {
  await hub.createToken();
  const services = await hub.plane.admin.list<KubeObject>(resources.deployments, { namespace: system });
  const scale = (replicas: number) =>
    Promise.all(
      services.map(({ metadata: { name } }) =>
        hub.plane.admin.mergePatch(
          resources.deployments,
          name,
          { spec: { replicas } },
          { namespace: system },
        ),
      ),
    );
  await scale(0);
  const refused = await until('nobody answers', async () => {
    const result = await hub.rollcall(...restoreArgs(hub.keys, '--keep-kubernetes'));
    return !result.stderr.includes('is not lost') && result;
  });
  expect(refused.stderr).toContain('nothing was changed');
  expect(refused.stderr).toContain('code: STATE_NOT_EMPTY');
  expect(await servicesHaveIdentities()).toBe(true);
  const flags = { kubeconfig: hub.plane.plane.adminKubeconfigPath };
  const rotating = await openHubAnywhere(hub.keys, flags);
  const note = join(hub.keys, restoreNote);
  writeFileSync(note, JSON.stringify({ hubId: rotating.files.read('hub').hubId, takenAtMs: 1, epoch: 2 }));
  await expect(rotating.files.publish()).rejects.toMatchObject({ code: 'RESTORE_UNFINISHED' });
  rotating.close();
  rmSync(note);
  await scale(1);
  await hub.untilAllRun();
  await hub.readiness('own', 'True');
});

test('a hub in pods that has lost its volume gets its history back, also by commands that were killed', async () => {
  const { hubId, epoch } = openHubFiles(hub.keys).read('hub');
  await hub.loseVolume();
  const again = restoreArgs(hub.keys, '--keep-kubernetes');
  const kubeconfig = ['--kubeconfig', hub.plane.plane.adminKubeconfigPath];
  await until('services say that it is lost, and are stopped', async () => {
    await using killed = startCli([...again, ...kubeconfig]);
    const said = await killed.line(/services are stopped|is not lost/);
    killed.child.kill('SIGKILL');
    return said.includes('are stopped');
  });
  expect(await servicesHaveIdentities()).toBe(false);
  // Neither another command nor an installer has them start over a half of it.
  const rotate = await hub.rollcall('trust', 'rotate', 'signing-keys', '--keys', hub.keys);
  expect(rotate.stderr).toContain('code: RESTORE_UNFINISHED');
  expect(succeeded(await hub.install())).toContain('the services wait for the end of `rollcall restore`');
  expect(await servicesHaveIdentities()).toBe(false);
  // What somebody wrote there meanwhile is left as it is.
  await writeSomethingElse();
  const refused = await hub.rollcall(...again);
  expect(refused.stderr).toContain('are not a beginning of the backup');
  expect(refused.stderr).toContain('code: RESTORE_UNFINISHED');
  const kubectl = 'kubectl -n rollcall-system';
  const scale = `${kubectl} scale statefulset rollcall-nats --replicas`;
  // It is pasted.
  expect(refused.stderr).toContain(
    `\`${scale} 0 && ${kubectl} delete pvc data-rollcall-nats-0 && ${scale} 1\``,
  );
  expect(await servicesHaveIdentities()).toBe(false);
  await hub.loseVolume();
  // As one leaves it that was killed while it filled them.
  await writeBeginning();
  const restored = succeeded(await hub.rollcall(...again));
  expect(restored).toContain(`epoch ${epoch + 1} begins`);
  expect(openHubFiles(hub.keys).read('hub')).toMatchObject({ hubId, epoch: epoch + 1 });
  await hub.untilAllRun();
  await until('the hub has the history of before', async () => {
    const { stdout } = await hub.rollcall('events', '--type', 'restored', '--type', 'joined');
    return stdout.includes('Restored') && stdout.includes('own');
  });
  await hub.readiness('own', 'True');
  const verified = await until('nothing is wrong', async () => {
    const result = await hub.rollcall('verify', '--keys', hub.keys);
    return result.code === 0 && result;
  });
  expect(verified.code).toBe(0);
  const info = await hub.plane.admin.get<KubeObject & { data: Record<string, string> }>(
    resources.configMaps,
    { name: 'rollcall-hub', namespace: system },
  );
  expect(info?.data['epoch']).toBe(String(epoch + 1));
});

test('a hub that has lost the StatefulSet of its servers with the volume, and its keys, is told to install it, and then gets its history back', async () => {
  const { epoch } = openHubFiles(hub.keys).read('hub');
  await hub.loseVolume();
  await hub.plane.admin.delete(statefulSets, 'rollcall-nats', { namespace: system });
  // How often it was restored since that backup only the cluster knows now.
  rmSync(hub.keys, { recursive: true });
  const again = () => hub.rollcall(...restoreArgs(hub.keys));
  expect(await again()).toMatchObject({
    code: exitCodes.held,
    stdout: expect.stringContaining('there are no servers to fill. Install them with these keys'),
  });
  expect(succeeded(await hub.install())).toContain('the services wait for the end of `rollcall restore`');
  expect(succeeded(await again())).toContain(`epoch ${epoch + 1} begins`);
  await hub.untilAllRun();
  await hub.readiness('own', 'True');
});

/** As the admission of somebody else may. */
async function refuseTokens({ admin }: ChartHub['plane'], hubId: string): Promise<void> {
  const name = 'no-tokens';
  const rule = {
    apiGroups: ['rollcall.dev'],
    apiVersions: ['*'],
    operations: ['CREATE'],
    resources: ['clusterregistrationtokens'],
  };
  const on = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name } };
  const validations = [{ expression: 'false', message: 'no tokens here' }];
  await applyManifests(admin, [
    {
      ...on,
      kind: 'ValidatingAdmissionPolicy',
      spec: { matchConstraints: { resourceRules: [rule] }, validations },
    } as KubeObject,
    {
      ...on,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: name, validationActions: ['Deny'] },
    } as KubeObject,
  ]);
  let count = 0;
  await until('it is in force', () =>
    makeToken(admin, { hubId, name: `probe-${++count}`, uses: 1 }).then(
      () => false,
      (error: Error) => error.message.includes('no tokens here'),
    ),
  );
}

test('where keys, pods and Kubernetes are lost, they are made again of the backup, and what is refused is told', async () => {
  // And on three servers, where there was one.
  await using other = await startChartHub({ servers: 3 });
  const again = () => other.rollcall(...restoreArgs(other.keys));
  expect(await again()).toMatchObject({
    code: exitCodes.held,
    stdout: expect.stringContaining('no servers to fill'),
  });
  const { hubId } = openHubFiles(hub.keys).read('hub');
  expect(openHubFiles(other.keys).read('hub')).toMatchObject({ hubId, epoch: 2 });
  expect(succeeded(await other.install('--servers', '3', '--advertise', other.address))).toContain(
    'services wait',
  );
  expect(await servicesHaveIdentities(other)).toBe(false);
  await refuseTokens(other.plane, hubId);
  const restored = await again();
  expect(restored).toMatchObject({
    code: exitCodes.failed,
    stdout: expect.stringContaining('epoch 2 begins'),
  });
  expect(restored.stderr).toMatch(
    /objects of people are not there: ClusterRegistrationToken .*no tokens here/,
  );
  await other.untilAllRun();
  const cluster = await until('the cluster is shown again', () => other.cluster('own'));
  expect(cluster.status?.keyFingerprint).toBe((await hub.cluster('own'))?.status?.keyFingerprint);
  const policies = await other.plane.admin.list<KubeObject>(resources.approvalPolicies, {});
  expect(policies).not.toEqual([]);
});

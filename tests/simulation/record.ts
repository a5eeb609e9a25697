import { writeFileSync } from 'node:fs';
import { type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import { readStream, streamState } from '@rollcall/shared/bus';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { asRecorded } from './recorded-stream.ts';

/** node tests/simulation/record.ts FILE: lives through a real run that has most kinds of events, and keeps its stream. */
const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('node tests/simulation/record.ts FILE\n');
  process.exit(2);
}

await using hub = await startTestEmbeddedHub({ settings: { approver: { bulkPerMinute: '1000' } } });

const say = (line: string) => process.stderr.write(`${line}\n`);
const joinNamespace = 'rollcall-join';

/** Resolves once there is such an event, or as many as told. */
async function happened(filter: string, count = 1): Promise<void> {
  say(`waiting for ${filter}`);
  await until(filter, async () => {
    let found = 0;
    for await (const _ of hub.log.scan({ filter })) found++;
    return found >= count;
  });
}

async function rollcall(...args: string[]): Promise<void> {
  say(`rollcall ${args.join(' ')}`);
  const { code, stderr } = await runCli([...args, '--kubeconfig', hub.up.plane.adminKubeconfigPath]);
  if (code !== 0) throw new Error(`rollcall ${args.join(' ')}: ${code} ${stderr}`);
}

async function write(resource: Resource, name: string, spec: object, namespace?: string): Promise<void> {
  const { admin } = hub.up;
  const place = namespace === undefined ? {} : { namespace };
  if (await admin.get(resource, { name, ...place })) {
    await admin.mergePatch(resource, name, { spec }, place);
    return;
  }
  const object = { apiVersion, kind: resource.kind, metadata: { name, ...place }, spec } as KubeObject;
  await admin.create(resource, object, place);
}

async function join(name: string, spec: Record<string, unknown> = {}, directory?: string) {
  const { text } = await hub.createToken(spec);
  return hub.startAgent({ name, token: text, ...(directory === undefined ? {} : { directory }) });
}

/** Approved by policy; goes, comes back, is changed in every way, and leaves. */
async function aWholeLife({ up }: TestEmbeddedHub): Promise<void> {
  const { agent, directory } = await join('alpha', { labels: { env: 'test' } });
  await happened('cluster.alpha.joined');
  await happened('cluster.alpha.provisioned');
  await agent.stop();
  await happened('cluster.alpha.stopped');
  const again = await hub.startAgent({ name: 'alpha', directory });
  await happened('cluster.alpha.ready');
  await up.admin.mergePatch(resources.managedClusters, 'alpha', { metadata: { labels: { tier: 'one' } } });
  await happened('cluster.alpha.changed');
  await rollcall('cordon', 'alpha');
  await happened('cluster.alpha.cordoned');
  await rollcall('uncordon', 'alpha');
  await happened('cluster.alpha.uncordoned');
  await up.admin.mergePatch(resources.managedClusters, 'alpha', { spec: { hubAcceptsClient: false } });
  await happened('cluster.alpha.cut');
  await happened('cluster.alpha.deprovisioned');
  await up.admin.mergePatch(resources.managedClusters, 'alpha', { spec: { hubAcceptsClient: true } });
  await happened('cluster.alpha.approved', 2);
  await up.admin.delete(resources.managedClusters, 'alpha');
  await happened('cluster.alpha.left');
  await happened('name.alpha.released');
  await again.agent.stop();
}

async function heldDeniedAndTakenBack(): Promise<void> {
  const rule = { name: 'wait', when: "request.clusterName == 'beta'", effect: 'Hold', reason: 'ask first' };
  const never = { name: 'never', when: "request.clusterName == 'gamma'", effect: 'Deny' };
  await write(resources.approvalPolicies, 'careful', { rules: [rule, never] });
  await happened('policy.careful.declared');
  const { agent, directory } = await join('beta');
  await happened('cluster.beta.held');
  await rollcall('deny', 'beta');
  await happened('cluster.beta.denied');
  await rollcall('approve', 'beta');
  // Who was refused rests for minutes.
  await agent.stop();
  await hub.startAgent({ name: 'beta', directory });
  await happened('cluster.beta.joined');
  await rollcall('revoke', 'beta');
  await happened('cluster.beta.cut');
  await rollcall('ban', 'beta');
  await happened('cluster.beta.banned');
  await rollcall('unban', 'beta');
  await happened('cluster.beta.unbanned');
  await join('gamma');
  await happened('cluster.gamma.denied');
  await hub.up.admin.delete(resources.approvalPolicies, 'careful');
  await happened('policy.careful.withdrawn');
}

async function anotherKey(): Promise<void> {
  const first = await join('delta');
  await happened('cluster.delta.joined');
  await first.agent.stop();
  await join('delta');
  await happened('cluster.delta.held');
  const { spec } = (await hub.request('delta')) ?? {};
  await rollcall('approve', 'delta', '--replace-key', spec?.keyFingerprint ?? '');
  await happened('cluster.delta.joined', 2);
}

async function refusedAndPredefined(): Promise<void> {
  await join('other', { clusterName: 'expected-*' });
  await happened('cluster.other.refused');
  await write(resources.managedClusters, 'epsilon', { clientId: 'epsilon-1' });
  await happened('cluster.epsilon-1.predefined');
  const { text } = await hub.createToken({ clientId: 'epsilon-1' });
  await hub.startAgent({ name: 'whatever', clientId: 'epsilon-1', token: text });
  await happened('cluster.epsilon-1.joined');
}

async function declared(): Promise<void> {
  await write(resources.clusterRegistrationTokens, 'made-by-hub', { publish: true }, joinNamespace);
  await happened('token.*.published');
  await hub.up.admin.delete(resources.clusterRegistrationTokens, 'made-by-hub', { namespace: joinNamespace });
  await happened('token.*.withdrawn');
  await write(resources.managedClusterSets, 'blue', { selector: { selectorType: 'ExclusiveLabel' } });
  await happened('set.blue.declared');
  await hub.up.admin.delete(resources.managedClusterSets, 'blue');
  await happened('set.blue.withdrawn');
}

await aWholeLife(hub);
await heldDeniedAndTakenBack();
await anotherKey();
await refusedAndPredefined();
await declared();

const nc = await connectAsInspector(hub.up.stateDir, hub.up.natsAddress);
const { lastSequence } = await streamState(nc, 'EVENTS');
const lines: string[] = [];
for await (const message of readStream(nc, 'EVENTS', lastSequence)) lines.push(asRecorded(message));
await nc.close();
writeFileSync(file, `${lines.join('\n')}\n`);
say(`${lines.length} events in ${file}`);

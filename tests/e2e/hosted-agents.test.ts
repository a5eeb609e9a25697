import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  applyManifests,
  type KubeObject,
  kubeconfigYaml,
  requestAccountToken,
  resources,
} from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** Agents whose pods are in a management cluster, and whose members are elsewhere. */
let hub: TestEmbeddedHub;
let management: TestControlPlane;
let environment: Record<string, string>;
const running: RunningCli[] = [];
const namespace = 'agents';

const rights = `apiVersion: v1
kind: Namespace
metadata: { name: ${namespace} }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: hosted, namespace: ${namespace} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: hosted, namespace: ${namespace} }
rules:
  - apiGroups: ['']
    resources: [secrets]
    verbs: [get, create, patch, delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: hosted, namespace: ${namespace} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: hosted }
subjects:
  - { kind: ServiceAccount, name: hosted, namespace: ${namespace} }
`;

beforeAll(async () => {
  [hub, management] = await Promise.all([
    startTestEmbeddedHub(),
    startTestControlPlane({ withManifests: false }),
  ]);
  await applyManifests(management.admin, [rights]);
  // What the kubelet gives to a pod.
  const directory = join(hub.up.stateDir, 'service-account');
  const account = { name: 'hosted', namespace };
  const { token = '' } = await requestAccountToken(management.admin, account, { expirationSeconds: 3600 });
  mkdirSync(directory, { mode: 0o700 });
  const { server, caPem = '' } = management.plane.access;
  const files = { token, 'ca.crt': caPem, namespace };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(directory, name), text, { mode: 0o600 });
  const { hostname, port } = new URL(server);
  environment = {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    ROLLCALL_SERVICE_ACCOUNT_DIR: directory,
  };
});
afterAll(async () => {
  for (const cli of running) await cli[Symbol.asyncDispose]();
  await Promise.all([hub[Symbol.asyncDispose](), management[Symbol.asyncDispose]()]);
});

const secretNames = async () =>
  (await management.admin.list(resources.secrets, { namespace }))
    .map(({ metadata }) => metadata.name)
    .toSorted();

async function startHosted(name: string, member: TestControlPlane['plane']['access']): Promise<RunningCli> {
  const token = await hub.createToken({ clusterName: name });
  const bootstrap = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `rollcall-bootstrap-${name}`, namespace },
    stringData: { hub: hub.up.addresses.join(','), caBundle: hub.up.hub.caPem, token: token.text },
  };
  await management.admin.create(resources.secrets, bootstrap as KubeObject, { namespace });
  const kubeconfig = join(hub.up.stateDir, `${name}.kubeconfig`);
  writeFileSync(kubeconfig, kubeconfigYaml(member), { mode: 0o600 });
  const which = [
    '--hosted',
    name,
    '--member-kubeconfig',
    kubeconfig,
    '--client-id',
    name,
    '--cluster-name',
    name,
  ];
  const cli = startCli(['agent', 'run', ...which], { environment });
  running.push(cli);
  return cli;
}

test('agents of two members run in one management cluster, and what leaves takes along only what is its own [RO-4]', async () => {
  const one = await startHosted('hosted-one', hub.up.plane.access);
  await startHosted('hosted-two', management.plane.access);
  await Promise.all(['hosted-one', 'hosted-two'].map((name) => hub.untilReady(name)));
  expect(await secretNames()).toEqual([
    'rollcall-agent-hosted-one',
    'rollcall-agent-hosted-two',
    'rollcall-bootstrap-hosted-one',
    'rollcall-bootstrap-hosted-two',
  ]);
  const members = await Promise.all(
    [hub.up.admin, management.admin].map((client) => client.list(resources.namespaces)),
  );
  // Where an agent is installed in its member, there is a namespace.
  expect(members.flat().filter(({ metadata }) => metadata.name === 'rollcall-agent')).toEqual([]);

  const kubeconfig = join(hub.up.stateDir, 'hosted-one.kubeconfig');
  const { code, stderr } = await runCli(['unregister', 'hosted-one', '--kubeconfig', kubeconfig]);
  expect(code, stderr).toBe(0);
  expect((await one.result).code).toBe(0);
  await until('only what is its own is gone', async () => (await secretNames()).length === 2);
  expect(await secretNames()).toEqual(['rollcall-agent-hosted-two', 'rollcall-bootstrap-hosted-two']);
  await hub.untilReady('hosted-two');
});

test('a person has a hosted agent take a new key, and leave, from elsewhere [RO-4]', async () => {
  const name = 'hosted-two';
  const which = ['--hosted', name, '--host-namespace', namespace];
  const where = [...which, '--host-kubeconfig', management.plane.adminKubeconfigPath];
  const keyOf = async () => (await hub.cluster(name))?.status?.keyFingerprint;
  const before = await keyOf();
  const rotated = await runCli(['agent', 'rotate', ...where]);
  expect(rotated.code, rotated.stderr).toBe(0);
  await until('the hub shows the new key', async () => (await keyOf()) !== before);
  const left = await runCli(['agent', 'leave', ...where]);
  expect(left.code, left.stderr).toBe(0);
  expect(left.stdout).toBe(`cluster "${name}" has left the hub\n`);
  await until('its Secrets are gone', async () => (await secretNames()).length === 0);
  expect((await running.at(-1)?.result)?.code).toBe(0);
  const again = await runCli(['agent', 'leave', ...where]);
  expect(again.stderr).toContain(
    `there is no agent: the Secret ${namespace}/rollcall-agent-${name} has no keys`,
  );
});

test('a hosted agent says what it needs', async () => {
  const cases = [
    [['--hosted', 'x'], environment, 'give --member-kubeconfig with --hosted'],
    [
      ['--hosted', 'x', '--state-dir', 'y', '--member-kubeconfig'],
      environment,
      'give either --hosted or --state-dir',
    ],
    [['--hosted', 'X/../y', '--member-kubeconfig'], environment, 'is no valid name'],
    [['--hosted', 'x', '--member-kubeconfig'], {}, '--hosted is for a pod'],
  ] as const;
  for (const [flags, variables, message] of cases) {
    const file = flags.at(-1) === '--member-kubeconfig' ? [management.plane.adminKubeconfigPath] : [];
    const { code, stderr } = await runCli(['agent', 'run', ...flags, ...file], { environment: variables });
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(message);
  }
});

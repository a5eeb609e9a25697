import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { confirmations } from '@rollcall/shared/resources';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  bindRole,
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../tests/harness/control-plane.ts';
import { runCli, startCli } from './run-cli.ts';

const clusters = resources.managedClusters;
let plane: TestControlPlane;
let projector: KubeClient;
let admin: string;
let victor: string;
const asAdmin = (...args: string[]) => [...args, '--kubeconfig', admin];
const asVictor = (...args: string[]) => [...args, '--kubeconfig', victor];

beforeAll(async () => {
  plane = await startTestControlPlane();
  projector = plane.clientFor(serviceUser('projector'));
  admin = plane.plane.adminKubeconfigPath;
  victor = plane.kubeconfigFor('victor');
  // He may write clusters, and has none of the admission policies' rights but accept.
  await bindRole(plane.admin, 'victor', 'rollcall-approver');
});
afterAll(async () => {
  projector?.close();
  await plane?.[Symbol.asyncDispose]();
});

/** A cluster as the projector shows it. */
async function aCluster(name: string): Promise<void> {
  const clusterId = `id-of-${name}`;
  const metadata = { name, labels: { 'rollcall.dev/cluster-id': clusterId } };
  const object = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'ManagedCluster', metadata };
  await projector.create(clusters, { ...object, spec: { clusterId } } as KubeObject);
  await showAccepted(name, 'True', 'PolicyApproved');
}

async function showAccepted(name: string, status: string, reason: string): Promise<void> {
  const accepted = {
    type: 'Accepted',
    status,
    reason,
    message: 'said why',
    lastTransitionTime: '2026-11-21T12:00:00Z',
  };
  const patch = { status: { keyFingerprint: 'aaaa-bbbb', conditions: [accepted] } };
  await projector.mergePatch(clusters, name, patch, { subresource: 'status' });
}

async function operationOf(name: string): Promise<object> {
  const found = await plane.admin.get<KubeObject<{ operation?: object }>>(clusters, { name });
  return found?.spec?.operation ?? operationOf(name);
}

test.each([
  { verb: 'revoke', operation: 'Revoke', reason: 'PersonRevoked', says: 'is revoked' },
  { verb: 'ban', operation: 'Ban', reason: 'PersonBanned', says: 'is banned' },
])(
  '$verb says on which hub, about which key, and what the hub made of it',
  async ({ verb, operation, reason, says }) => {
    const name = `edge-${verb}`;
    await aCluster(name);
    await using cli = startCli(asAdmin(verb, name, '--reason', 'stolen'));
    await cli.line(/^hub: https:/);
    await cli.line(new RegExp(`^cluster "${name}" \\(id-of-${name}\\), key aaaa-bbbb`));
    expect(await operationOf(name)).toMatchObject({
      verb: operation,
      keyFingerprint: 'aaaa-bbbb',
      reason: 'stolen',
      by: 'rollcall-admin',
    });
    await showAccepted(name, 'False', reason);
    expect(await cli.result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`cluster "${name}" ${says}`),
    });
    expect((await runCli(asAdmin(verb, name))).stdout).toContain('already');
  },
);

test('unban of a cluster that is not banned changes nothing', async () => {
  await aCluster('edge-free');
  const { code, stdout } = await runCli(asAdmin('unban', 'edge-free'));
  expect(stdout).toContain('already');
  expect(code).toBe(0);
});

test.each([
  { name: 'revoke', args: ['revoke', 'edge-r'], right: 'managedclusters/revoke for "edge-r"' },
  { name: 'ban', args: ['ban', 'edge-r'], right: 'managedclusters/revoke for "edge-r"' },
  { name: 'confirm', args: ['confirm', 'b-0123456789'], right: 'rollcall-confirmations' },
])('$name without the right is refused by the API server, which names it', async ({ args, right }) => {
  await aCluster('edge-r').catch(() => undefined);
  for (const more of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await runCli(asVictor(...args, ...more));
    expect(stderr).toContain(right);
    expect(stdout).toBe('');
    expect(code).toBe(3);
  }
});

test('a dry run changes nothing, and an operation that waits ends in time', async () => {
  await aCluster('edge-w');
  const dry = await runCli(asAdmin('revoke', 'edge-w', '--dry-run'));
  expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining('dry run') });
  const { code, stderr } = await runCli(asAdmin('revoke', 'edge-w', '--timeout', '1s'));
  expect(stderr).toContain('get operations');
  expect(code).toBe(6);
});

test('a confirmation names the list and who says so', async () => {
  expect((await runCli(asAdmin('confirm', 'nonsense'))).code).toBe(2);
  const notHeld = await runCli(asAdmin('confirm', 'b-0123456789'));
  expect(notHeld.stderr).toContain('nothing is held now');
  expect(notHeld.code).toBe(1);
  expect((await runCli(asAdmin('confirm', 'b-0123456789', '--no-wait'))).code).toBe(0);
  const { name, namespace } = confirmations;
  const stored = await plane.admin.get<KubeObject & { data?: object }>(resources.configMaps, {
    name,
    namespace,
  });
  expect(stored?.data).toEqual({ confirm: 'b-0123456789', by: 'rollcall-admin' });
});

test('another key is let in only by who names it', async () => {
  const spec = {
    clusterId: 'id-of-edge-k',
    clusterName: 'edge-k',
    keyFingerprint: 'cccc-dddd',
    knownKeyFingerprint: 'aaaa-bbbb',
  };
  await projector.create(resources.clusterRegistrationRequests, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationRequest',
    metadata: { name: spec.clusterId },
    spec,
  } as KubeObject);
  const unnamed = await runCli(asAdmin('approve', 'edge-k'));
  expect(unnamed.stderr).toContain('known key of this cluster: aaaa-bbbb');
  expect(unnamed.stderr).toContain('rollcall approve edge-k --replace-key cccc-dddd');
  expect(unnamed.code).toBe(2);
  expect((await runCli(asAdmin('approve', 'edge-k', '--replace-key', 'aaaa-bbbb'))).code).toBe(2);
  const refused = await runCli(asVictor('approve', 'edge-k', '--replace-key', 'cccc-dddd'));
  expect(refused.stderr).toContain('managedclusters/replacekey');
  expect(refused.code).toBe(3);
  const right = await runCli(asAdmin('approve', 'edge-k', '--replace-key', 'cccc-dddd', '--dry-run'));
  expect(right.code).toBe(0);
  const wide = await runCli(asAdmin('get', 'requests', '-o', 'wide'));
  expect(wide.stdout).toMatch(/KEY +KNOWN-KEY/);
  expect(wide.stdout).toMatch(/cccc-dddd +aaaa-bbbb/);
});

/** Admission of somebody else, who may change what people write before anything of ours checks it. */
async function turn(plural: 'clusterregistrationrequests' | 'managedclusters', patch: string): Promise<void> {
  const name = `turns-${plural}`;
  const rule = {
    apiGroups: ['rollcall.dev'],
    apiVersions: ['*'],
    operations: ['UPDATE'],
    resources: [plural],
  };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const spec = {
    failurePolicy: 'Fail',
    reinvocationPolicy: 'Never',
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: 'turned', expression: "object.metadata.name.startsWith('turned-')" }],
    mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: patch } }],
  };
  const binding = { kind: 'MutatingAdmissionPolicyBinding', metadata: { name }, spec: { policyName: name } };
  await applyManifests(plane.admin, [
    { apiVersion, kind: 'MutatingAdmissionPolicy', metadata: { name }, spec } as KubeObject,
    { apiVersion, ...binding } as KubeObject,
  ]);
}

const setTo = (path: string, value: string) => `JSONPatch{op: 'replace', path: '${path}', value: '${value}'}`;

test('a decision that admission of others turns is told, and not waited for', async () => {
  const spec = { clusterId: 'turned-r', clusterName: 'turned-r', keyFingerprint: 'cccc-dddd' };
  await projector.create(resources.clusterRegistrationRequests, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationRequest',
    metadata: { name: spec.clusterId },
    spec,
  } as KubeObject);
  await turn(
    'clusterregistrationrequests',
    `has(object.spec.decision) && object.spec.decision.verdict == 'Approve' ? [${setTo('/spec/decision/verdict', 'Deny')}] : []`,
  );
  const approve = () => runCli(asAdmin('approve', 'turned-r', '--dry-run'));
  const told = await vi.waitUntil(
    async () => {
      const done = await approve();
      return done.code === 0 ? undefined : done;
    },
    { timeout: 30_000 },
  );
  expect(told).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(
      /you sent verdict Approve, and the API server stored verdict Deny\n[^]*DECISION_CHANGED/,
    ),
  });
  expect((await runCli(asAdmin('deny', 'turned-r', '--dry-run'))).code).toBe(0);
  expect(await runCli(asAdmin('approve', 'turned-r', '--timeout', '5s'))).toMatchObject({ code: 3 });
});

test('an operation that admission of others turns is told, whatever of it is another', async () => {
  for (const of of ['verb', 'id', 'key']) await aCluster(`turned-${of}`);
  const isNew = "has(object.spec.operation) && object.spec.operation.id != 'turned'";
  const turned = [
    `object.metadata.name == 'turned-verb' ? [${setTo('/spec/operation/verb', 'Unban')}]`,
    `object.metadata.name == 'turned-id' ? [${setTo('/spec/operation/id', 'turned')}]`,
    `[${setTo('/spec/operation/keyFingerprint', 'eeee-ffff')}]`,
  ].join(' : ');
  await turn('managedclusters', `${isNew} ? (${turned}) : []`);
  const operation = (verb: string, of: string) => runCli(asAdmin(verb, `turned-${of}`, '--dry-run'));
  await vi.waitUntil(async () => (await operation('revoke', 'verb')).code !== 0, { timeout: 30_000 });
  for (const [verb, sent] of [
    ['revoke', 'Revoke'],
    ['ban', 'Ban'],
    ['rotate', 'RotateKey'],
  ] as const) {
    const changed = (words: string) => ({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`you sent ${words}\\n[^]*DECISION_CHANGED`)),
    });
    expect(await operation(verb, 'verb')).toMatchObject(
      changed(`verb ${sent}, and the API server stored verb Unban`),
    );
    expect(await operation(verb, 'id')).toMatchObject(changed('id .*, and the API server stored id turned'));
    expect(await operation(verb, 'key')).toMatchObject(
      changed('keyFingerprint aaaa-bbbb, and the API server stored keyFingerprint eeee-ffff'),
    );
  }
  const forced = await runCli(asAdmin('unregister', 'turned-verb', '--force', '--dry-run'));
  expect(forced).toMatchObject({ code: 3, stderr: expect.stringContaining('stored verb Unban') });
  // Banned, so that there is something to take back.
  await showAccepted('turned-id', 'False', 'PersonBanned');
  expect(await operation('unban', 'id')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('DECISION_CHANGED'),
  });
});

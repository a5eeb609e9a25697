import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { parseRegistrationToken } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  bindRole,
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../tests/harness/control-plane.ts';
import { runCli, startCli } from './run-cli.ts';

const hubId = '0123456789abcdef';
let plane: TestControlPlane;
let admin: string;
const projector = () => plane.clientFor(serviceUser('projector'));
const asAdmin = (...args: string[]) => [...args, '--kubeconfig', admin];

beforeAll(async () => {
  plane = await startTestControlPlane();
  admin = plane.plane.adminKubeconfigPath;
});
afterAll(() => plane[Symbol.asyncDispose]());

async function makeHub(): Promise<void> {
  const data = { hubId, addresses: 'hub.example.org:4222', caBundle: 'PEM', caCertHash: 'sha256:00ff' };
  const where = { name: 'rollcall-hub', namespace: 'rollcall-system' };
  await plane.admin.apply(
    resources.configMaps,
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: where, data } as KubeObject,
    { force: true },
  );
}

/** A request as the projector shows it, held for a person. */
async function aHeldRequest(clusterId: string, clusterName: string): Promise<void> {
  const object = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationRequest',
    metadata: { name: clusterId },
    spec: { clusterId, clusterName, keyFingerprint: 'aaaa-bbbb' },
  };
  await projector().create(resources.clusterRegistrationRequests, object);
  await setResult(clusterId, 'Held');
}

async function setResult(clusterId: string, result: string, more: object = {}): Promise<void> {
  const patch = { status: { result, reason: 'NoRuleMatched', message: 'text', ...more } };
  await projector().mergePatch(resources.clusterRegistrationRequests, clusterId, patch, {
    subresource: 'status',
  });
}

test('a cluster without a hub is told apart', async () => {
  const { code, stderr } = await runCli(asAdmin('token', 'create'));
  expect(stderr).toContain('is no hub');
  expect(code).toBe(1);
});

test('a token is made here, printed once, and nowhere else [KA-4]', async () => {
  await makeHub();
  await using cli = startCli(
    asAdmin(
      'token',
      'create',
      '--print-register-command',
      '--cluster-name',
      'edge-1',
      '--uses',
      '3',
      '--ttl',
      '1h',
    ),
  );
  await cli.line(/^hub: https:/);
  const taken = async (): Promise<string> => {
    const [made] = await plane.admin.list<KubeObject>(resources.clusterRegistrationTokens);
    return made?.metadata.name ?? taken();
  };
  const name = await taken();
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Usable',
    message: '',
    lastTransitionTime: '2026-11-21T12:00:00Z',
  };
  const patch = { status: { conditions: [condition], expires: '2026-11-21T13:00:00Z', used: 0 } };
  await projector().mergePatch(resources.clusterRegistrationTokens, name, patch, {
    namespace: 'rollcall-join',
    subresource: 'status',
  });
  const { code, stdout, stderr } = await cli.result;
  expect(code).toBe(0);
  expect(stderr).toContain('good for 3 clusters named "edge-1", until 2026-11-21T13:00:00Z');
  const [, text = ''] =
    /^ROLLCALL_TOKEN=(\S+) rollcall register hub\.example\.org:4222 --ca-cert-hash sha256:00ff --cluster-name edge-1 --run\n$/.exec(
      stdout,
    ) ?? [];
  const token = parseRegistrationToken(text);
  expect(token.hubId).toBe(hubId);
  const secret = text.split('.')[2] ?? '';
  const kept = await plane.admin.raw('/apis/rollcall.dev/v1alpha1/clusterregistrationtokens');
  expect(kept.body).toContain(token.key.publicKey);
  expect(kept.body).not.toContain(secret);
  const list = await runCli(asAdmin('token', 'list'));
  expect(list.stdout).toMatch(
    /^NAMESPACE +NAME +USES +USED +EXPIRES +READY +AGE\nrollcall-join +token-\w+ +3 +0 +2026-11-21T13:00:00Z +True/,
  );
  expect(stderr + list.stdout).not.toContain(secret);
});

test('who may make a token and not watch it has the token all the same: it is nowhere else', async () => {
  const apiGroup = 'rbac.authorization.k8s.io';
  const role = {
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'token-maker' },
    rules: [
      { apiGroups: ['rollcall.dev'], resources: ['clusterregistrationtokens'], verbs: ['create'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    ],
  };
  await applyManifests(plane.admin, [role as KubeObject]);
  await bindRole(plane.admin, 'maker', 'token-maker');
  const kubeconfig = plane.kubeconfigFor('maker');
  const { code, stdout, stderr } = await runCli(['token', 'create', '--kubeconfig', kubeconfig]);
  expect(stderr).toContain('you may not watch whether the hub takes the token');
  expect(code).toBe(0);
  const { key } = parseRegistrationToken(stdout.trim());
  const kept = await plane.admin.raw('/apis/rollcall.dev/v1alpha1/clusterregistrationtokens');
  expect(kept.body).toContain(key.publicKey);
});

test.each([{ format: 'table' }, { format: 'json' }])(
  'a name that is not there, as $format',
  async ({ format }) => {
    expect(await runCli(asAdmin('get', 'clusters', 'nobody', '-o', format))).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /error: there is none of the name "nobody"\nhint: .*\ncode: NOT_FOUND\n$/,
      ),
    });
  },
);

test('nothing is there yet', async () => {
  expect(await runCli(asAdmin('get', 'clusters'))).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/No resources found\.\n$/),
  });
  const { stdout } = await runCli(asAdmin('get', 'mcls', '-o', 'json'));
  expect(JSON.parse(stdout)).toEqual({ apiVersion: 'v1', kind: 'List', items: [] });
});

test.each([
  { what: 'a kind', names: [], said: /^No resources found\.$/ },
  { what: 'a name', names: ['to-come'], said: /^there is none of the name "to-come" yet$/ },
])('a watch of $what of which nothing is there says so, and shows what comes', async ({ names, said }) => {
  await using cli = startCli(asAdmin('get', 'sets', ...names, '--watch'));
  await cli.line(said);
  await plane.admin.create(resources.managedClusterSets, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name: 'to-come' },
    spec: { selector: { type: 'ExclusiveLabel' } },
  } as KubeObject);
  await cli.line(/^to-come /);
  cli.child.kill('SIGINT');
  const { code, stdout } = await cli.result;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^NAME +CLUSTERS +EMPTY +AGE\nto-come +\S+ +\S+ +\d+s\n$/);
  await plane.admin.delete(resources.managedClusterSets, 'to-come');
});

test('a person approves by name and is told what the hub made of it', async () => {
  await aHeldRequest('id-of-edge-2', 'edge-2');
  expect((await runCli(asAdmin('get', 'requests', '-o', 'name'))).stdout).toBe(
    'clusterregistrationrequest.rollcall.dev/id-of-edge-2\n',
  );
  await using cli = startCli(asAdmin('approve', 'edge-2', '--reason', 'known'));
  await cli.line(/^request: cluster "edge-2" \(id-of-edge-2\), key aaaa-bbbb/);
  const decided = async (): Promise<KubeObject> => {
    const found = await plane.admin.get<KubeObject<{ decision?: object }>>(
      resources.clusterRegistrationRequests,
      {
        name: 'id-of-edge-2',
      },
    );
    return found?.spec?.decision ? found : decided();
  };
  expect((await decided()).spec).toMatchObject({
    decision: { verdict: 'Approve', keyFingerprint: 'aaaa-bbbb', by: 'rollcall-admin', reason: 'known' },
  });
  await setResult('id-of-edge-2', 'Approved');
  expect(await cli.result).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('cluster "edge-2" is approved'),
  });
  const again = await runCli(asAdmin('approve', 'id-of-edge-2'));
  expect(again.stdout).toContain('is approved already');
  const named = await runCli(asAdmin('approve', 'id-of-edge-2', '-o', 'name'));
  expect(named.stdout).toBe('clusterregistrationrequest.rollcall.dev/id-of-edge-2\n');
});

const seen = (sequence: number) => ({ observed: { epoch: 1, sequence, digest: `sha256:${'0'.repeat(64)}` } });

test('a failure of before is no answer to an approval: what comes later is', async () => {
  const failure = { reason: 'NamespaceTaken', errorMessage: 'the namespace is taken' };
  await aHeldRequest('id-of-edge-4', 'edge-4');
  await setResult('id-of-edge-4', 'Failed', { ...failure, ...seen(1) });
  await using cli = startCli(asAdmin('approve', 'edge-4'));
  await cli.line(/^request: cluster "edge-4"/);
  const decided = async (): Promise<void> => {
    const request = await plane.admin.get<KubeObject<{ decision?: object }>>(
      resources.clusterRegistrationRequests,
      { name: 'id-of-edge-4' },
    );
    if (!request?.spec?.decision) await decided();
  };
  await decided();
  await setResult('id-of-edge-4', 'Failed', { ...failure, ...seen(2) });
  await setResult('id-of-edge-4', 'Approved', { ...failure, errorMessage: null, ...seen(3) });
  expect(await cli.result).toMatchObject({ code: 0, stdout: expect.stringContaining('is approved') });
});

test('what fails as before is told when the time is over', async () => {
  const failure = { reason: 'NamespaceTaken', errorMessage: 'the namespace is taken' };
  await setResult('id-of-edge-4', 'Failed', { ...failure, ...seen(4) });
  await using cli = startCli(asAdmin('approve', 'edge-4', '--reason', 'again', '--timeout', '5s'));
  await cli.line(/^request: cluster "edge-4"/);
  await setResult('id-of-edge-4', 'Failed', { ...failure, message: 'still', ...seen(5) });
  expect(await cli.result).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/"edge-4" fails as before: Failed, .*still\n[^]*REQUEST_FAILED/),
  });
});

test('what the registrar refused cannot be approved, and nothing is written; a denial is', async () => {
  await aHeldRequest('id-of-edge-5', 'edge-5');
  await setResult('id-of-edge-5', 'Failed', { reason: 'NameTaken' });
  expect(await runCli(asAdmin('approve', 'edge-5'))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('refused before anybody could decide, so there is nothing to approve'),
  });
  const where = { name: 'id-of-edge-5' };
  const kept = await plane.admin.get<KubeObject<object>>(resources.clusterRegistrationRequests, where);
  expect(kept?.spec).not.toHaveProperty('decision');
  expect(await runCli(asAdmin('deny', 'edge-5'))).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('was refused already; your denial counts if this key is heard again'),
  });
});

test('a person without the right is refused by the API server, and told which right it takes', async () => {
  await aHeldRequest('id-of-edge-3', 'edge-3');
  await bindRole(plane.admin, 'victor', 'rollcall-viewer');
  const kubeconfig = plane.kubeconfigFor('victor');
  const { code, stdout, stderr } = await runCli(['approve', 'edge-3', '--kubeconfig', kubeconfig]);
  expect(stderr).toContain('forbidden');
  expect(stderr).toContain('managedclusters/accept');
  expect(stdout).toBe('');
  expect(code).toBe(3);
});

test('a decision on which the hub does not act ends in time', async () => {
  const { code, stderr } = await runCli(asAdmin('deny', '--id', 'id-of-edge-3', '--timeout', '1s'));
  expect(stderr).toContain('your decision is written');
  expect(code).toBe(6);
});

test.each([
  { name: 'an unknown cluster', args: ['approve', 'nobody'], want: '"nobody"', exit: 1 },
  {
    name: 'an unknown object',
    args: ['get', 'requests', 'nobody'],
    want: 'there is none of the name "nobody"',
    exit: 1,
  },
])('$name', async ({ args, want, exit }) => {
  const { code, stderr } = await runCli(asAdmin(...args));
  expect(stderr).toContain(want);
  expect(code).toBe(exit);
});

test('a name means the cluster that has it, whatever strangers asked for and called themselves', async () => {
  const owner = 'id-of-edge-6';
  await projector().create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'edge-6', labels: { 'rollcall.dev/cluster-id': owner } },
    spec: { clusterId: owner },
  } as KubeObject);
  await aHeldRequest(owner, 'edge-6');
  await setResult(owner, 'Approved');
  for (const id of ['id-of-stranger', 'edge-6']) {
    await aHeldRequest(id, 'edge-6');
    await setResult(id, 'Failed', { reason: 'NameTaken' });
  }
  const { code, stderr } = await runCli(asAdmin('deny', 'edge-6', '--dry-run'));
  expect(stderr).toContain(`request: cluster "edge-6" (${owner})`);
  expect(code).toBe(0);
  expect((await runCli(asAdmin('describe', 'cluster', 'edge-6'))).stdout).toContain(owner);
});

/** What a stranger can do: choose its id, and ask by any name that is free. */
async function aStrangerWhoseIdIs(id: string): Promise<void> {
  await aHeldRequest(id, `free-${id}`);
  onTestFinished(async () => {
    await projector().delete(resources.clusterRegistrationRequests, id);
  });
}

test('the name of who waits is not the id of a stranger: nobody is decided about until it is said who', async () => {
  await aHeldRequest('id-of-edge-7', 'edge-7');
  await aStrangerWhoseIdIs('edge-7');
  for (const verb of ['approve', 'deny']) {
    const { code, stderr } = await runCli(asAdmin(verb, 'edge-7', '--dry-run'));
    expect(stderr).toContain(`\`rollcall ${verb} --id id-of-edge-7\` (cluster "edge-7", key aaaa-bbbb)`);
    expect(stderr).toContain(`\`rollcall ${verb} --id edge-7\` (cluster "free-edge-7", key aaaa-bbbb)`);
    expect(code).toBe(2);
    for (const id of ['id-of-edge-7', 'edge-7']) {
      const meant = await runCli(asAdmin(verb, '--id', id, '--dry-run'));
      expect(meant).toMatchObject({ code: 0, stderr: expect.stringContaining(`(${id}), key`) });
    }
  }
  expect((await runCli(asAdmin('approve', '--id', 'free-edge-7'))).code).toBe(1);
  const described = await runCli(asAdmin('describe', 'request', 'edge-7'));
  expect(described).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('`rollcall describe request --id id-of-edge-7`'),
  });
  const owner = await runCli(asAdmin('describe', 'request', '--id', 'id-of-edge-7'));
  expect(owner.stdout).toContain('id-of-edge-7');
});

test('who may not read clusters puts out the member of that name, and no stranger of that id', async () => {
  await aHeldRequest('id-of-edge-8', 'edge-8');
  await setResult('id-of-edge-8', 'Approved');
  await aStrangerWhoseIdIs('edge-8');
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'request-decider' },
    rules: [
      {
        apiGroups: ['rollcall.dev'],
        resources: ['clusterregistrationrequests'],
        verbs: ['get', 'list', 'patch', 'update'],
      },
      { apiGroups: ['rollcall.dev'], resources: ['managedclusters/accept'], verbs: ['create'] },
    ],
  };
  await applyManifests(plane.admin, [role as KubeObject]);
  await bindRole(plane.admin, 'blind', 'request-decider');
  const kubeconfig = plane.kubeconfigFor('blind');
  const { code, stderr } = await runCli(['deny', 'edge-8', '--dry-run', '--kubeconfig', kubeconfig]);
  expect(stderr).toContain('request: cluster "edge-8" (id-of-edge-8)');
  expect(code).toBe(0);
});

test('a cluster that is declared, and that nobody has claimed, is not the stranger whose id is its name', async () => {
  await plane.admin.create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'edge-9' },
    spec: { clientId: 'id-of-edge-9' },
  } as KubeObject);
  await aStrangerWhoseIdIs('edge-9');
  for (const verb of ['approve', 'deny']) {
    const { code, stderr } = await runCli(asAdmin(verb, 'edge-9', '--dry-run'));
    expect(stderr).toContain('no request has the id or the cluster name "edge-9"');
    expect(code).toBe(1);
  }
  expect((await runCli(asAdmin('describe', 'cluster', 'edge-9'))).stdout).not.toContain('free-edge-9');
});

/** A cluster as the projector shows it; the status is that of its condition Ready, since a number of hours. */
async function aCluster(
  name: string,
  { ready, hours, version }: { ready: string; hours: number; version: string },
): Promise<void> {
  await plane.admin.create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name, labels: { batch: 'clusters' } },
    spec: { clientId: `id-of-${name}` },
  } as KubeObject);
  const since = new Date(Date.now() - hours * 3_600_000);
  const condition = {
    type: 'Ready',
    status: ready,
    reason: 'Said',
    message: 'text',
    lastTransitionTime: `${since.toISOString().slice(0, 19)}Z`,
  };
  const patch = { status: { conditions: [condition], kubernetesVersion: version } };
  await projector().mergePatch(resources.managedClusters, name, patch, { subresource: 'status' });
}

test('several requests are decided at once: people see which, and are asked', async () => {
  for (const name of ['many-1', 'many-2']) {
    await aHeldRequest(`id-of-${name}`, name);
    const labelled = { metadata: { labels: { batch: 'requests' } } };
    await projector().mergePatch(resources.clusterRegistrationRequests, `id-of-${name}`, labelled);
  }
  const chosen = ['--selector', 'batch=requests'];
  const asked = await runCli(asAdmin('deny', ...chosen));
  expect(asked.stderr).toContain('- "many-1" (id-of-many-1): text\n  - "many-2" (id-of-many-2): text');
  expect(asked.stderr).toContain('give --yes if this is meant');
  expect(asked.code).toBe(2);
  const tried = await runCli(asAdmin('deny', ...chosen, '--dry-run'));
  expect(tried.stderr.match(/you may decide this/g)).toHaveLength(2);
  expect(tried.stderr.match(/^hub: /gm)).toHaveLength(1);
  expect(tried).toMatchObject({ code: 0, stderr: expect.stringContaining('all 2 are done') });
  expect((await runCli(asAdmin('approve', '--all-held', '--dry-run'))).stderr).toContain('"many-2"');
  expect((await runCli(asAdmin('approve', 'many-1', '--all-held'))).code).toBe(2);
  expect((await runCli(asAdmin('approve'))).code).toBe(2);
});

test('clusters are chosen, sorted and cordoned by what the console filters by', async () => {
  await aCluster('chosen-1', { ready: 'True', hours: 30, version: 'v1.36.3' });
  await aCluster('chosen-2', { ready: 'False', hours: 2, version: 'v1.35.1' });
  await aCluster('chosen-3', { ready: 'Unknown', hours: 0, version: 'v1.36.1' });
  const labelled = ['get', 'clusters', '-l', 'batch=clusters'];
  const names = async (...flags: string[]) => {
    const { stdout } = await runCli(asAdmin(...labelled, '-o', 'name', ...flags));
    return stdout.split('\n').flatMap((line) => line.split('/')[1] ?? []);
  };
  expect(await names()).toEqual(['chosen-1', 'chosen-2', 'chosen-3']);
  expect(await names('--state', 'notready,Unknown', '--sort-by', '-cluster')).toEqual([
    'chosen-3',
    'chosen-2',
  ]);
  expect(await names('--version', 'v1.36')).toEqual(['chosen-1', 'chosen-3']);
  expect(await names('--since', '1h')).toEqual(['chosen-3']);
  expect(await names('--set', 'nobodys')).toEqual([]);
  expect(await names('--filter', 'CHOSEN reason:said version:v1.36 -3')).toEqual(['chosen-3']);
  const table = await runCli(asAdmin(...labelled, '--sort-by', 'state'));
  expect(table.stdout).toMatch(/^NAME .*\nchosen-2 .*\nchosen-3 .*\nchosen-1 .*\n$/);
  for (const wrong of [
    ['--state', 'fine'],
    ['--sort-by', 'colour'],
    ['--state', 'ready', '--watch'],
  ])
    expect((await runCli(asAdmin(...labelled, ...wrong))).code).toBe(2);
  expect((await runCli(asAdmin('get', 'policies', '--state', 'ready'))).code).toBe(2);
  expect((await runCli(asAdmin('get', 'clusters', 'chosen-1', '--state', 'ready'))).code).toBe(2);

  const cordoned = await runCli(asAdmin('cordon', '-l', 'batch=clusters', '--yes'));
  expect(cordoned.stdout.split('\n').toSorted().slice(1)).toEqual(
    [1, 2, 3].map((number) => `cluster "chosen-${number}" is cordoned`),
  );
  const some = await runCli(asAdmin('uncordon', 'chosen-1', 'nobody', '--yes'));
  expect(some).toMatchObject({ code: 1, stdout: 'cluster "chosen-1" is uncordoned\n' });
  expect(some.stderr).toContain('no cluster has the name "nobody" (NOT_FOUND)\n1 of 2 are done');

  const move = (set: string) => runCli(asAdmin('move', 'chosen-1', 'chosen-2', '--to', set, '--yes'));
  expect((await move('nobodys')).stderr).toContain('no set has the name "nobodys" (NOT_FOUND)');
  await plane.admin.create(resources.managedClusterSets, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name: 'somebodys' },
    spec: {},
  });
  expect((await move('somebodys')).code).toBe(0);
  expect(await names('--set', 'somebodys')).toEqual(['chosen-1', 'chosen-2']);
  expect((await move('somebodys')).stdout).toContain('cluster "chosen-2" is in set "somebodys" already');

  const label = (...words: string[]) => runCli(asAdmin('cluster', 'label', ...words));
  expect((await label('chosen-1', 'tier=gold')).stdout).toBe('cluster "chosen-1" is labelled\n');
  const other = await label('chosen-1', 'chosen-2', 'tier=silver', '--yes');
  expect(other).toMatchObject({ code: 2, stdout: 'cluster "chosen-2" is labelled\n' });
  expect(other.stderr).toContain('cluster "chosen-1" has tier=gold; --overwrite replaces that');
  expect((await label('-l', 'tier', 'tier=silver', '--overwrite', '--yes')).code).toBe(0);
  expect(await names('-l', 'tier=silver')).toEqual(['chosen-1', 'chosen-2']);
  expect((await label('-l', 'tier', 'tier-')).stderr).toContain('- "chosen-2"');
  expect((await label('-l', 'tier', 'tier-', '--yes')).code).toBe(0);
  expect(await names('-l', 'tier')).toEqual([]);
  expect((await label('chosen-1')).stderr).toContain('give a label');
  expect((await label('chosen-1', 'rollcall.dev/cluster-id=x', '--overwrite')).code).not.toBe(0);
});

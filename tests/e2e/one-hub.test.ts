import { randomUUID } from 'node:crypto';
import { clusterRecord } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLocalAgent } from '../../cli/up/local-agent.ts';
import {
  conditionOf,
  grant,
  startTestEmbeddedHub,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const aName = (stem: string) => `${stem}-${randomUUID().slice(0, 8)}`;

/** Nobody is let in by policy while the test runs; the policy comes back afterwards. */
async function withoutPolicy(run: () => Promise<void>): Promise<void> {
  const { admin } = hub.up;
  const policy = await admin.get(resources.approvalPolicies, { name: 'default' });
  await admin.delete(resources.approvalPolicies, 'default');
  const withdrawn = async () => (await hub.log.read({ kind: 'policy', id: 'default' })).newest?.type;
  await until('the policy is withdrawn', async () => (await withdrawn()) === 'withdrawn');
  try {
    await run();
  } finally {
    await admin.create(resources.approvalPolicies, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ApprovalPolicy',
      metadata: { name: 'default' },
      spec: policy?.spec,
    });
    await until('the policy is back', async () => (await withdrawn()) === 'declared');
  }
}

/** May change requests and clusters as far as RBAC goes, and has no verb on managedclusters/accept. */
async function createRequestEditor(): Promise<void> {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'request-editor' },
    rules: [
      {
        apiGroups: ['rollcall.dev'],
        resources: ['clusterregistrationrequests', 'managedclusters'],
        verbs: ['get', 'patch', 'update'],
      },
    ],
  };
  await hub.up.admin.create(resources.clusterRoles, role);
}

test('the API server of `rollcall up` has no kinds of what runs on nodes', async () => {
  expect(await Promise.all(['apps', 'batch'].map((group) => hub.up.admin.hasApiGroup(group)))).toEqual([
    false,
    false,
  ]);
});

test('the hub registers its own cluster, with a namespace and no account in it that nobody asked for', async () => {
  const agent = await startLocalAgent(hub.up, { clusterName: 'local' });
  const cluster = await hub.untilReady('local');
  expect(cluster.status?.namespace).toBe('local');
  expect(cluster.status?.conditions?.map(({ type }) => type).toSorted()).toEqual([
    'Accepted',
    'ClaimsComplete',
    'ClockSynced',
    'CredentialsValid',
    'Deleting',
    'Joined',
    'MemberHealthy',
    'Ready',
  ]);
  const namespace = await hub.up.admin.get<KubeObject>(resources.namespaces, { name: 'local' });
  expect(namespace?.metadata.labels).toMatchObject({ 'rollcall.dev/cluster-name': 'local' });
  for (const resource of [resources.serviceAccounts, resources.roleBindings])
    expect(await hub.up.admin.get(resource, { name: 'rollcall-member', namespace: 'local' })).toBeUndefined();
  await agent.stop();
  const stopped = await hub.untilReady('local', 'False');
  expect(conditionOf(stopped, 'Ready')?.reason).toBe('AgentStopped');
});

test('a cluster that no policy approves waits with a reason; a person with accept lets it in, one without is refused [OC-1]', async () => {
  const name = aName('held');
  const [carol, mallory] = [aName('carol'), aName('mallory')];
  await grant(hub, carol, ['rollcall-approver']);
  await createRequestEditor();
  await grant(hub, mallory, ['request-editor']);
  await withoutPolicy(async () => {
    const token = await hub.createToken();
    await hub.startAgent({ name, token: token.text });
    const request = await until('the request is held', async () => {
      const found = await hub.request(name);
      return found?.status?.result === 'Held' && found;
    });
    expect(request.status?.reason).toBe('NoRuleMatched');
    const patch = [
      'patch',
      'clusterregistrationrequests.rollcall.dev',
      name,
      '--type=merge',
      '-p',
      '{"spec":{"decision":{"verdict":"Approve"}}}',
    ];
    const refused = await hub.kubectl(mallory, ...patch);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/rollcall-accept.*managedclusters\/accept/s);
    const allowed = await hub.kubectl(carol, ...patch);
    expect(allowed).toMatchObject({ code: 0 });
    await hub.untilReady(name);
  });
  const record = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  expect(record.decision?.by).toMatchObject({ person: carol });
});

test('while a request waits its cluster is there, and hubAcceptsClient by a person with accept lets it in; what stood there before does not [OC-1]', async () => {
  const [name, declared, unwanted] = [aName('opts'), aName('declared'), aName('unwanted')];
  const [dora, mallory] = [aName('dora'), aName('mallory')];
  await grant(hub, dora, ['rollcall-approver']);
  await grant(hub, mallory, ['request-editor']);
  const patch = (who: string, cluster: string, spec: string) =>
    hub.kubectl(who, 'patch', 'mcls', cluster, '--type=merge', '-p', `{"spec":${spec}}`);
  const accept = (who: string, cluster: string) => patch(who, cluster, '{"hubAcceptsClient":true}');
  const isShown = (cluster: string, reason: string) =>
    until(`${cluster} shows ${reason}`, async () => {
      const found = await hub.cluster(cluster);
      return found && conditionOf(found, 'Accepted')?.reason === reason && found;
    });
  await withoutPolicy(async () => {
    // A manifest from before anybody asked: it saw no key, so that who takes the name first is not let in by it.
    await hub.up.admin.create(resources.managedClusters, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedCluster',
      metadata: { name: declared },
      spec: { hubAcceptsClient: true },
    });
    const { text: token } = await hub.createToken({ uses: 3 });
    for (const each of [name, declared, unwanted]) await hub.startAgent({ name: each, token });
    const waits = await isShown(name, 'NoRuleMatched');
    expect(conditionOf(waits, 'Accepted')).toMatchObject({ status: 'False' });
    expect(conditionOf(waits, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'Held' });
    expect((await accept(mallory, name)).stderr).toContain('needs verb create on managedclusters/accept');
    expect(await accept(dora, name)).toMatchObject({ code: 0 });
    await hub.untilReady(name);

    const before = await isShown(declared, 'AcceptNotHeard');
    expect(conditionOf(before, 'Accepted')?.message).toContain('take it away and set it again');
    // Nor by a change of somebody without the right, which makes the object new to whoever looks at it.
    expect(await patch(mallory, declared, '{"unschedulable":true}')).toMatchObject({ code: 0 });
    expect(await patch(dora, declared, '{"hubAcceptsClient":null}')).toMatchObject({ code: 0 });
    await isShown(declared, 'NoRuleMatched');
    const record = clusterRecord(await hub.log.read({ kind: 'cluster', id: declared }));
    expect(record.decision).toMatchObject({ verdict: 'held' });
    expect(await accept(dora, declared)).toMatchObject({ code: 0 });
    await hub.untilReady(declared);

    await isShown(unwanted, 'NoRuleMatched');
    await hub.up.admin.delete(resources.managedClusters, unwanted);
    await until(
      'nothing shows it',
      async () => !(await hub.cluster(unwanted)) && !(await hub.request(unwanted)),
    );
  });
  for (const each of [name, declared]) {
    const approvals = [];
    for await (const event of hub.log.scan({ filter: `cluster.${each}.approved` })) approvals.push(event.by);
    expect(approvals).toEqual([{ person: dora }]);
  }
});

test('a denied cluster hears why; denied after approval it is cut and stays out [OC-8]', async () => {
  const name = aName('denied');
  const token = await hub.createToken();
  const { phases } = await hub.startAgent({ name, token: token.text });
  await hub.untilReady(name);
  await hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { hubAcceptsClient: false } });
  const denied = await hub.untilReady(name, 'False');
  expect(conditionOf(denied, 'Ready')?.reason).toMatch(/Denied|Revoked/);
  await until(
    'the key is cut',
    async () => clusterRecord(await hub.log.read({ kind: 'cluster', id: name })).cut,
  );
  await until('the agent knows', async () => phases.some(({ phase }) => phase === 'refused'));
  expect(
    await hub.up.admin.get(resources.roleBindings, { name: 'rollcall-member', namespace: name }),
  ).toBeUndefined();
});

test('a deleted cluster loses connection, access and namespace, and its name is free again [X-8]', async () => {
  const name = aName('gone');
  const first = await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  await hub.up.admin.delete(resources.managedClusters, name);
  await until('the object is gone', async () => (await hub.cluster(name)) === undefined);
  await until(
    'the namespace is gone',
    async () => (await hub.up.admin.get(resources.namespaces, { name })) === undefined,
  );
  expect(clusterRecord(await hub.log.read({ kind: 'cluster', id: name })).identity?.state).toBe('left');
  await first.agent.stop();
  await until(
    'the name is free',
    async () => (await hub.log.read({ kind: 'name', id: name })).newest?.type === 'released',
  );
  await hub.startAgent({ name, clientId: `${name}-again`, token: (await hub.createToken()).text });
  await hub.untilReady(name);
});

test('a namespace that is there is never adopted [CN-3]', async () => {
  const name = aName('squat');
  await hub.up.admin.create(resources.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  });
  await hub.startAgent({ name, token: (await hub.createToken()).text });
  const request = await until('the request shows it', async () => {
    const found = await hub.request(name);
    return found?.status?.reason === 'NamespaceTaken' && found;
  });
  expect(request.status?.result).toBe('Failed');
  expect(
    await hub.up.admin.get(resources.serviceAccounts, { name: 'rollcall-member', namespace: name }),
  ).toBeUndefined();
});

test('a restarted agent is the same cluster, without a new approval', async () => {
  const name = aName('same');
  const { agent, directory } = await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  const before = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  await agent.stop();
  await hub.untilReady(name, 'False');
  await hub.startAgent({ name, directory });
  await hub.untilReady(name);
  const after = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  expect(after.lastOf.approver?.sequence).toBe(before.lastOf.approver?.sequence);
  expect(after.lastOf.registrar?.sequence).toBe(before.lastOf.registrar?.sequence);
});

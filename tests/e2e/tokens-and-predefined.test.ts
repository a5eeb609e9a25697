import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterRecord, nameRecord } from '@rollcall/shared/events';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken, ManagedCluster } from '@rollcall/shared/resources';
import { parseRegistrationToken } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  conditionOf,
  grant,
  startTestEmbeddedHub,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({
    settings: { 'rbac-provisioner': { expirySweep: '1s' } },
    tokenNamespaces: ['rollcall-join', team],
  });
});
afterAll(() => hub[Symbol.asyncDispose]());

const namespace = 'rollcall-join';
const team = 'team-a';
const apiVersion = 'rollcall.dev/v1alpha1';
const aName = (stem: string) => `${stem}-${randomUUID().slice(0, 8)}`;

async function makeToken(name: string, spec: object): Promise<void> {
  const object = { apiVersion, kind: 'ClusterRegistrationToken', metadata: { name, namespace }, spec };
  await hub.up.admin.create(resources.clusterRegistrationTokens, object);
}
const tokenObject = (name: string) =>
  hub.up.admin.get<ClusterRegistrationToken>(resources.clusterRegistrationTokens, { name, namespace });

/** The condition Ready of a token, once it has that reason. */
const tokenBecomes = (name: string, reason: string) =>
  until(`token ${name} is ${reason}`, async () => {
    const [condition] = (await tokenObject(name))?.status?.conditions ?? [];
    return condition?.reason === reason && condition;
  });

type Secret = KubeObject & { data?: Record<string, string> };
const secretOf = (name: string) => hub.up.admin.get<Secret>(resources.secrets, { name, namespace });

async function predefine(name: string, spec: object, labels: Record<string, string> = {}): Promise<void> {
  const object = { apiVersion, kind: 'ManagedCluster', metadata: { name, labels }, spec };
  await hub.up.admin.create(resources.managedClusters, object);
}
const acceptedBecomes = (name: string, reason: string) =>
  until(`cluster ${name} is ${reason}`, async () => {
    const found = await hub.cluster(name);
    return conditionOf(found, 'Accepted')?.reason === reason && found;
  });

test('a published token: its Secret lets one cluster in, and is gone after that [FL-1]', async () => {
  const [token, cluster, anna] = [aName('published'), aName('shop'), aName('anna')];
  await grant(hub, anna, ['rollcall-viewer']);
  await makeToken(token, {
    publish: true,
    clusterName: cluster,
    labels: { env: 'prod' },
    description: 'shop',
  });
  const wait = await hub.kubectl(anna, '-n', namespace, 'wait', '--for=condition=Ready', `clsrt/${token}`);
  expect(wait).toMatchObject({ code: 0 });
  const secret = await secretOf(token);
  const text = (key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString();
  const values = parse(text('values')) as Record<string, string>;
  expect(values).toMatchObject({ clusterName: cluster, clientID: '', caCertHash: hub.up.hub.caCertHash });
  expect(parseRegistrationToken(values['token'] ?? '').hubId).toBe(hub.up.hub.hubId);
  expect(text('command')).toContain(`ROLLCALL_TOKEN=${values['token']} rollcall register `);

  await hub.startAgent({ name: cluster, token: values['token'] });
  const joined = await hub.untilReady(cluster);
  expect(joined.metadata.labels).toMatchObject({ env: 'prod' });
  await until('the Secret is gone', async () => (await secretOf(token)) === undefined);
  const { message } = await tokenBecomes(token, 'UsedUp');
  expect(message).toContain('--uses');

  const late = await hub.startAgent({ name: cluster, clientId: aName('late'), token: values['token'] });
  await until('the second one hears why', async () =>
    late.phases.some((phase) => phase.phase === 'refused' && phase.detail.code === 'TOKEN_USED_UP'),
  );
  for await (const { section } of hub.log.scan({ filter: 'token.*.*' })) {
    expect(JSON.stringify(section)).not.toContain(values['token']);
  }
});

test('who may write tokens in the namespace of a team, and nothing else, lets clusters ask there with what such a token gives, and nowhere else [FL-1]', async () => {
  const [kay, cluster, other] = [aName('kay'), aName('branch'), 'team-b'];
  const rules = [
    { apiGroups: ['rollcall.dev'], resources: ['clusterregistrationtokens'], verbs: ['create', 'get'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  ];
  const apiGroup = 'rbac.authorization.k8s.io';
  const ofRbac = `${apiGroup}/v1`;
  await hub.up.admin.create(resources.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: other },
  });
  for (const where of [team, other]) {
    const metadata = { name: kay, namespace: where };
    await applyManifests(hub.up.admin, [
      { apiVersion: ofRbac, kind: 'Role', metadata, rules } as KubeObject,
      {
        apiVersion: ofRbac,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup, kind: 'Role', name: kay },
        subjects: [{ apiGroup, kind: 'User', name: kay }],
      } as KubeObject,
    ]);
  }
  const make = (where: string, name: string, spec: object) => {
    const file = join(hub.up.stateDir, `${name}.json`);
    const metadata = { name, namespace: where };
    writeFileSync(file, JSON.stringify({ apiVersion, kind: 'ClusterRegistrationToken', metadata, spec }));
    return hub.kubectl(kay, 'create', '-f', file);
  };
  const publish = { publish: true, clusterName: cluster, labels: { tier: 'branch' } };

  expect(await make(other, 'theirs', publish)).toMatchObject({ code: 0 });
  expect(await make(namespace, 'theirs', publish)).toMatchObject({ code: 1 });
  const red = await make(team, 'red', { ...publish, clusterSet: 'default' });
  expect(red).toMatchObject({ code: 1, stderr: expect.stringContaining('the set "default"') });
  expect(await make(team, 'branch', publish)).toMatchObject({ code: 0 });
  const secret = await until('the hub has published it there', async () =>
    hub.up.admin.get<Secret>(resources.secrets, { name: 'branch', namespace: team }),
  );
  const { token } = parse(Buffer.from(secret.data?.['values'] ?? '', 'base64').toString()) as {
    token: string;
  };
  await hub.startAgent({ name: cluster, token });
  const joined = await hub.untilReady(cluster);
  expect(joined.metadata.labels).toMatchObject({ tier: 'branch' });
  await until('its last use takes the Secret away', async () => {
    const found = await hub.up.admin.get(resources.secrets, { name: 'branch', namespace: team });
    return found === undefined;
  });

  const elsewhere = await until('the one elsewhere says why it does not count', async () => {
    const at = { name: 'theirs', namespace: other };
    const found = await hub.up.admin.get<ClusterRegistrationToken>(resources.clusterRegistrationTokens, at);
    return found?.status?.conditions?.[0];
  });
  expect(elsewhere).toMatchObject({ status: 'False', reason: 'InvalidNamespace' });
  expect(await hub.up.admin.get(resources.secrets, { name: 'theirs', namespace: other })).toBeUndefined();
});

test('a published token that is deleted takes its Secret along, and never one of somebody else', async () => {
  const [token, foreign] = [aName('deleted'), aName('foreign')];
  await makeToken(token, { publish: true });
  await tokenBecomes(token, 'Usable');
  const secret = await secretOf(token);
  await hub.up.admin.delete(resources.clusterRegistrationTokens, token, { namespace });
  await until('the Secret is gone', async () => (await secretOf(token)) === undefined);
  const values = parse(Buffer.from(secret?.data?.['values'] ?? '', 'base64').toString()) as { token: string };
  const late = await hub.startAgent({ name: aName('late'), token: values.token });
  await until('nobody gets in with it', async () => late.phases.some(({ phase }) => phase === 'refused'));

  const metadata = { name: foreign, namespace };
  const own = { apiVersion: 'v1', kind: 'Secret', metadata, data: { mine: 'bWluZQ==' } } as KubeObject;
  await hub.up.admin.create(resources.secrets, own);
  await makeToken(foreign, { publish: true });
  const condition = await tokenBecomes(foreign, 'SecretTaken');
  expect(condition).toMatchObject({ status: 'False', message: expect.stringContaining('left alone') });
  await hub.up.admin.delete(resources.clusterRegistrationTokens, foreign, { namespace });
  await until('the token is gone', async () => (await tokenObject(foreign)) === undefined);
  expect((await secretOf(foreign))?.data).toEqual({ mine: 'bWluZQ==' });
});

test('a published token whose Secret somebody deletes says so, and is good for who has it', async () => {
  const [token, cluster] = [aName('unwanted'), aName('had-it')];
  await makeToken(token, { publish: true });
  await tokenBecomes(token, 'Usable');
  const data = Buffer.from((await secretOf(token))?.data?.['values'] ?? '', 'base64').toString();
  await hub.up.admin.delete(resources.secrets, token, { namespace });
  const conditions = await until('it says that its Secret is gone', async () => {
    const found = (await tokenObject(token))?.status?.conditions;
    return found?.some(({ reason }) => reason === 'SecretGone') && found;
  });
  expect(conditions).toMatchObject([
    { type: 'Ready', status: 'True', reason: 'Usable' },
    { type: 'Published', status: 'False', message: expect.stringContaining('delete this object') },
  ]);
  await hub.startAgent({ name: cluster, token: (parse(data) as { token: string }).token });
  await hub.untilReady(cluster);
  expect(await secretOf(token)).toBeUndefined();
  // Used up, it says that instead.
  await tokenBecomes(token, 'UsedUp');
  expect((await tokenObject(token))?.status?.conditions).toHaveLength(1);
  // Deleted and made again it has a Secret again.
  await hub.up.admin.delete(resources.clusterRegistrationTokens, token, { namespace });
  await until('it is gone', async () => (await tokenObject(token)) === undefined);
  await makeToken(token, { publish: true });
  await tokenBecomes(token, 'Usable');
  expect(await secretOf(token)).toBeDefined();
});

test('a ttl that is not taken says so where people look; corrected, the token works', async () => {
  const token = aName('mistaken');
  await makeToken(token, { publish: true, ttl: '4000d' });
  const { message } = await tokenBecomes(token, 'InvalidTtl');
  expect(message).toContain('longer than ten years');
  expect(await secretOf(token)).toBeUndefined();
  await hub.up.admin.mergePatch(
    resources.clusterRegistrationTokens,
    token,
    { spec: { ttl: '7d' } },
    { namespace },
  );
  await tokenBecomes(token, 'Usable');
});

test.each([
  { name: 'a ttl below zero', spec: { publish: true, ttl: '-1h' } },
  { name: 'no use at all', spec: { publish: true, uses: 0 } },
  { name: 'neither a key nor publish', spec: {} },
])('$name is refused by the API server', async ({ spec }) => {
  await expect(makeToken(aName('bad'), spec)).rejects.toMatchObject({ status: 422 });
});

test('the key of a token stays; everything else can be changed after its use', async () => {
  const cluster = aName('first');
  const { text } = await hub.createToken({ uses: 1 });
  await hub.startAgent({ name: cluster, token: text });
  await hub.untilReady(cluster);
  const objects = await hub.up.admin.list<ClusterRegistrationToken>(resources.clusterRegistrationTokens);
  const { publicKey } = parseRegistrationToken(text).key;
  const name = objects.find(({ spec }) => spec.publicKey === publicKey)?.metadata.name ?? '';
  await tokenBecomes(name, 'UsedUp');
  const patch = (spec: object) =>
    hub.up.admin.mergePatch(resources.clusterRegistrationTokens, name, { spec }, { namespace });
  await expect(patch({ publicKey: `U${'A'.repeat(55)}` })).rejects.toMatchObject({ status: 422 });
  await patch({ uses: 2 });
  await tokenBecomes(name, 'Usable');
  const second = aName('second');
  await hub.startAgent({ name: second, token: text });
  await hub.untilReady(second);
});

test('a predefined cluster waits for the token that names it, and keeps what the person wrote [FL-4]', async () => {
  const [name, clientId] = [aName('plant'), aName('Plant 7')];
  const person = {
    clientId,
    clusterType: 'Edge',
    namespacePolicy: 'Keep',
    unschedulable: true,
    heartbeat: { intervalSeconds: 5, graceSeconds: 300 },
  };
  await predefine(name, person, { env: 'prod' });
  const waiting = await acceptedBecomes(name, 'Predefined');
  const countDefined = async () => {
    let count = 0;
    for await (const { type } of hub.log.scan({ filter: `cluster.${waiting.spec.clusterId}.*` })) {
      if (type === 'predefined') count++;
    }
    return count;
  };
  expect(waiting.metadata).toMatchObject({
    finalizers: ['rollcall.dev/leave'],
    labels: { 'rollcall.dev/cluster-id': waiting.spec.clusterId, env: 'prod' },
  });

  const wrong = await hub.createToken({});
  const stranger = await hub.startAgent({ name: 'whatever', clientId, token: wrong.text });
  await until('the stranger hears why', async () =>
    stranger.phases.some((phase) => phase.phase === 'refused' && phase.detail.code === 'PREDEFINED_BINDING'),
  );
  await stranger.agent.stop();
  const thief = await hub.startAgent({ name, clientId: aName('thief'), token: wrong.text });
  await until('its name is not for others', async () =>
    thief.phases.some((phase) => phase.phase === 'refused' && phase.detail.code === 'NAME_TAKEN'),
  );

  const right = await hub.createToken({ clientId, labels: { env: 'test', zone: 'z' } });
  // What the agent calls itself does not count, not even a reserved name: the person has named the cluster.
  await hub.startAgent({ name: 'rollcall-hub', clientId, token: right.text });
  const joined = await hub.untilReady(name);
  expect(joined.metadata.labels).toMatchObject({ env: 'prod', zone: 'z' });
  expect(joined.spec).toMatchObject(person);
  expect(joined.status?.namespace).toBe(name);
  expect(await countDefined()).toBe(1);
  const { decision } = clusterRecord(
    await hub.log.read({ kind: 'cluster', id: joined.spec.clusterId ?? '' }),
  );
  expect(decision).toMatchObject({
    verdict: 'approved',
    namespacePolicy: 'Keep',
    unschedulable: true,
    heartbeat: person.heartbeat,
  });
});

test('of two predefined clusters with one id the second has no effect, until the first is gone', async () => {
  const [first, second, clusterId] = [aName('one'), aName('two'), aName('id')];
  await predefine(first, { clusterId });
  await acceptedBecomes(first, 'Predefined');
  await predefine(second, { clusterId });
  const inVain = await acceptedBecomes(second, 'IdTaken');
  expect(conditionOf(inVain, 'Accepted')).toMatchObject({
    status: 'False',
    message: expect.stringContaining(`"${first}"`),
  });
  expect(inVain.metadata.finalizers).toBeUndefined();

  await hub.up.admin.delete(resources.managedClusters, first);
  await until('the first is gone', async () => (await hub.cluster(first)) === undefined);
  const name = nameRecord(await hub.log.read({ kind: 'name', id: first }));
  expect(name).toMatchObject({ holder: undefined, newest: { type: 'released' } });
  await acceptedBecomes(second, 'Predefined');
  expect((await hub.cluster(second)) satisfies ManagedCluster | undefined).toMatchObject({
    metadata: { finalizers: ['rollcall.dev/leave'] },
  });
});

test('where the hub may publish no more it knows nothing of a Secret, and tells nothing of it', async () => {
  const publishIn = async (where: string) => {
    const name = aName('told');
    const metadata = { name, namespace: where };
    await hub.up.admin.create(
      resources.clusterRegistrationTokens,
      { apiVersion, kind: 'ClusterRegistrationToken', metadata, spec: { publish: true } } as KubeObject,
      { namespace: where },
    );
    await until('its Secret is there', () => hub.up.admin.get(resources.secrets, metadata));
    return metadata;
  };
  const publishedOf = async (at: { name: string; namespace: string }) => {
    const found = await hub.up.admin.get<ClusterRegistrationToken>(resources.clusterRegistrationTokens, at);
    return found?.status?.conditions?.find(({ type }) => type === 'Published');
  };
  /** The sweep that tells of it has looked after all others, too. */
  const loseOneInJoin = async () => {
    const lost = await publishIn(namespace);
    await hub.up.admin.delete(resources.secrets, lost.name, lost);
    await until('it is told', async () => (await publishedOf(lost))?.reason === 'SecretGone');
  };
  const kept = await publishIn(team);
  await hub.up.admin.delete(resources.roleBindings, 'rollcall-published-tokens', { namespace: team });
  await loseOneInJoin();
  await hub.up.admin.delete(resources.secrets, kept.name, kept);
  await loseOneInJoin();
  await loseOneInJoin();
  expect(await publishedOf(kept)).toBeUndefined();
});

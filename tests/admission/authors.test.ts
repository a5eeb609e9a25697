import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { aCluster, aProjection, type GuardedHub, outcomeOf, startGuardedHub } from './guarded-hub.ts';

const annotation = 'rollcall.dev/changed-by';
const editOurKinds = {
  apiGroups: ['rollcall.dev'],
  resources: ['approvalpolicies', 'managedclustersets', 'clusterregistrationtokens', 'managedclusters'],
  verbs: ['get', 'create', 'update', 'patch'],
};

let hub: GuardedHub;
beforeAll(async () => {
  hub = await startGuardedHub();
  for (const name of ['anna', 'otto']) await hub.grant(name, [editOurKinds]);
  // Not among what tells that the admission policies are up.
  const attributed = async () =>
    (await hub.admin.create<KubeObject>(policies, aPolicy('probe'), { dryRun: true })).metadata.annotations;
  await vi.waitUntil(async () => (await attributed())?.[annotation] !== undefined, { timeout: 30_000 });
});
afterAll(() => hub[Symbol.asyncDispose]());

const policies = resources.approvalPolicies;
/** More rules of this kind need no further right; fewer would. */
const rules = (...names: string[]) => ({
  rules: names.map((name) => ({ name, when: 'true', effect: 'Hold' })),
});
const aPolicy = (name: string, annotations?: Record<string, string>): KubeObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ApprovalPolicy',
  metadata: { name, ...(annotations ? { annotations } : {}) },
  spec: rules('first'),
});
const authorOf = async (name: string) =>
  (await hub.admin.get(policies, { name }))?.metadata.annotations?.[annotation];
const patch = (user: string, name: string, change: object) =>
  outcomeOf(hub.as(user).mergePatch(policies, name, change));
const named = (user: string | null) => ({ metadata: { annotations: { [annotation]: user } } });

test.each([
  { resource: resources.managedClusterSets, spec: {} },
  {
    resource: resources.clusterRegistrationTokens,
    namespace: 'rollcall-join',
    spec: { publish: true },
  },
])('$resource.kind says who made it', async ({ resource, namespace, spec }) => {
  const metadata = { name: 'made', ...(namespace ? { namespace } : {}) };
  const object = { apiVersion: 'rollcall.dev/v1alpha1', kind: resource.kind, metadata, spec } as KubeObject;
  expect((await hub.as('anna').create(resource, object)).metadata.annotations).toEqual({
    [annotation]: 'anna',
  });
});

test('a policy says who changed it last, whatever stands there', async () => {
  await hub.as('anna').create(policies, aPolicy('p', { [annotation]: 'otto', own: 'kept' }));
  expect(await authorOf('p')).toBe('anna');
  expect(await patch('otto', 'p', { metadata: { labels: { a: 'b' } } })).toBe('allowed');
  expect(await authorOf('p')).toBe('anna');
  expect(await patch('otto', 'p', { spec: rules('first', 'second') })).toBe('allowed');
  expect(await authorOf('p')).toBe('otto');
});

test('a token says who renewed it', async () => {
  const tokens = resources.clusterRegistrationTokens;
  const where = { namespace: 'rollcall-join' };
  const metadata = { name: 'renewed', ...where };
  const token = { ...aPolicy('renewed'), kind: tokens.kind, metadata, spec: { publish: true } };
  await hub.as('anna').create(tokens, token);
  const renewal = { metadata: { annotations: { 'rollcall.dev/epoch': '2' } } };
  const renewed = await hub.as('otto').mergePatch<KubeObject>(tokens, 'renewed', renewal, where);
  expect(renewed.metadata.annotations?.[annotation]).toBe('otto');
});

test('nobody puts a name on what somebody else changed, and one that is left out comes back', async () => {
  await hub.as('anna').create(policies, aPolicy('q'));
  expect(await patch('otto', 'q', named('mallory'))).toBe('allowed');
  expect(await patch('otto', 'q', named(null))).toBe('allowed');
  expect(await authorOf('q')).toBe('anna');
});

test('applied again by another it changes nothing', async () => {
  for (const user of ['anna', 'otto']) await hub.as(user).apply(policies, aPolicy('r'), { force: true });
  expect(await authorOf('r')).toBe('anna');
});

test('the settings and labels of a cluster name the person, and the projector is none', async () => {
  const clusters = resources.managedClusters;
  const projector = hub.service('projector');
  const author = async () =>
    (await hub.admin.get(clusters, { name: 'c' }))?.metadata.annotations?.[annotation];
  await projector.create(clusters, aProjection('c'));
  expect(await author()).toBeUndefined();
  await hub.as('anna').mergePatch(clusters, 'c', { spec: { unschedulable: true } });
  expect(await author()).toBe('anna');
  // Which cluster it is, and what its nodes share, is nobody's word.
  const ofHub = { 'rollcall.dev/cluster-name': 'c', 'node.rollcall.dev/zone': 'a' };
  await projector.mergePatch(clusters, 'c', { metadata: { labels: ofHub }, spec: { clusterType: 'Edge' } });
  expect(await author()).toBe('anna');
  await hub.as('otto').mergePatch(clusters, 'c', { metadata: { labels: { shown: 'no' } } });
  expect(await author()).toBe('otto');
});

test('what the projector writes has nobody’s name on it, neither an old one nor a new', async () => {
  const clusters = resources.managedClusters;
  const projector = hub.service('projector');
  const refusal = 'what the projector changes is no person';
  const forged = projector.create(clusters, aProjection('d', {}, { annotations: { [annotation]: 'anna' } }));
  expect(await outcomeOf(forged)).toContain(refusal);
  await projector.create(clusters, aProjection('d'));
  await hub.as('anna').mergePatch(clusters, 'd', { metadata: { labels: { tier: 'gold' } } });
  const changes = [
    { metadata: { labels: { tier: 'iron' } } },
    { metadata: { labels: { tier: null } } },
    { spec: { unschedulable: true } },
    { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
    { metadata: { labels: { tier: 'iron' }, annotations: { [annotation]: 'otto' } } },
  ];
  for (const change of changes)
    expect(await outcomeOf(projector.mergePatch(clusters, 'd', change)), JSON.stringify(change)).toContain(
      refusal,
    );
  expect(await outcomeOf(projector.mergePatch(clusters, 'd', named('otto')))).toContain(
    'it cannot change alone',
  );
  const nameless = { metadata: { labels: { tier: 'iron' }, annotations: { [annotation]: null } } };
  expect(await outcomeOf(projector.mergePatch(clusters, 'd', nameless))).toBe('allowed');
});

test('a service makes no cluster that looks as if a person had laid it down', async () => {
  const clusters = resources.managedClusters;
  const projector = hub.service('projector');
  const refusal = 'carry the label rollcall.dev/cluster-id';
  expect(await outcomeOf(projector.create(clusters, aCluster('e')))).toContain(refusal);
  await projector.create(clusters, aProjection('e'));
  const unmarked = { metadata: { labels: { 'rollcall.dev/cluster-id': null } } };
  expect(await outcomeOf(projector.mergePatch(clusters, 'e', unmarked))).toContain(refusal);
});

/** Last, because it takes attribution away for good. */
test('below Kubernetes 1.36 no name is filled in, and nobody writes another name', async () => {
  await hub.admin.delete(resources.mutatingAdmissionPolicyBindings, 'rollcall-attribution-author');
  const attribution = async () =>
    (await hub.admin.create<KubeObject>(policies, aPolicy('probe'), { dryRun: true })).metadata.annotations;
  await vi.waitUntil(async () => (await attribution())?.[annotation] === undefined, { timeout: 30_000 });
  await hub.as('anna').create(policies, aPolicy('s'));
  expect(await authorOf('s')).toBeUndefined();
  expect(await outcomeOf(hub.as('anna').create(policies, aPolicy('t', { [annotation]: 'otto' })))).toContain(
    'must be your own user name, "anna", or not be there',
  );
  expect(await outcomeOf(hub.as('anna').create(policies, aPolicy('u', { [annotation]: 'anna' })))).toBe(
    'allowed',
  );
  expect(await patch('otto', 'u', named('otto'))).toContain('it cannot change alone');
  expect(await patch('otto', 's', named('otto'))).toContain('it cannot change alone');
  expect(await patch('otto', 'u', { spec: rules('first', 'second') })).toContain(
    'must be your own user name, "otto"',
  );
  expect(await patch('otto', 'u', { ...named(null), spec: rules('first', 'second') })).toBe('allowed');
});

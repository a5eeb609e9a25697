import { setTimeout as delay } from 'node:timers/promises';
import { admissionAggregate, admissionOf, policyDeclaration } from '@rollcall/shared/events';
import { shippedPolicies, shippedAttribution } from '@rollcall/shared/admission';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { RunningService } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mostUnproven } from '../admission/unattributed-changes.ts';
import { bindRole } from '../../../tests/harness/control-plane.ts';
import { until } from '../../../tests/harness/embedded.ts';
import { type ApproverWorld, decisionPatch, startWorld } from './approver-world.ts';

const person = 'anna@example.com';
/** May write every object, and has none of the rights that the admission policies ask for. */
const writer = 'mallory@example.com';
const policies = resources.validatingAdmissionPolicies;
const bindings = resources.validatingAdmissionPolicyBindings;
const requests = resources.clusterRegistrationRequests;
let world: ApproverWorld;
let anna: KubeClient;
let mallory: KubeClient;
let approver: RunningService;

beforeAll(async () => {
  world = await startWorld();
  const { admin } = world.plane;
  const rule = {
    apiGroups: ['rollcall.dev'],
    resources: [
      'clusterregistrationrequests',
      'managedclusters',
      'approvalpolicies',
      'clusterregistrationtokens',
      'managedclustersets',
    ],
    verbs: ['get', 'create', 'update', 'patch', 'delete'],
  };
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'writer' },
  };
  await applyManifests(admin, [{ ...role, rules: [rule] } as KubeObject]);
  await bindRole(admin, writer, 'writer');
  await bindRole(admin, person, 'rollcall-admin');
  anna = world.plane.clientFor(person);
  mallory = world.plane.clientFor(writer);
  approver = await world.startApprover();
});
afterAll(async () => {
  anna?.close();
  mallory?.close();
  await world?.[Symbol.asyncDispose]();
});

const shippedOf = (kind: string, name: string) =>
  shippedPolicies().filter((object) => object.kind === kind && object.metadata.name === name) as KubeObject[];
async function putBack(name: string): Promise<void> {
  const { admin } = world.plane;
  for (const [resource, kind] of [
    [policies, policies.kind],
    [bindings, bindings.kind],
  ] as const) {
    const shipped = shippedOf(kind, name);
    const found = await admin.get<KubeObject>(resource, { name });
    // Applying alone would add to a list that somebody else has written to.
    if (found?.metadata.generation !== 1) await admin.delete(resource, name).catch(() => undefined);
    await applyManifests(admin, shipped);
  }
}

const admission = async () => admissionOf(await world.registrar.read(admissionAggregate));
const isListed = (object: string) =>
  until(`${object} is listed as unproven`, async () => {
    const now = await admission();
    return now?.inPlace === true && now.unproven.some((each) => each.object === object);
  });
/** Until the approver has seen another version: what follows one that does not count is not judged by who wrote it. */
const isOver = (object: string, word?: string) =>
  until(`${object} does not say it any more`, async () =>
    (await admission())?.unproven.every(
      (each) => each.object !== object || each.word !== (word ?? each.word),
    ),
  );
/** Tries until the API server does not refuse any more: it takes up to two seconds to forget a policy. */
const onceAllowed = (write: () => Promise<unknown>) =>
  until('the API server does not refuse', () =>
    write().then(
      () => true,
      () => false,
    ),
  );

async function aHeldRequest(name: string): Promise<{ key: string; id: string }> {
  const { key } = await world.request(name);
  const { aggregate } = await world.clusterIs(name, ({ decision }) => decision?.verdict === 'held');
  await world.showRequest(name, key);
  await world.showStatus(name);
  return { key, id: aggregate.id };
}

const patchSpec = (resource: typeof policies, spec: object) =>
  world.plane.admin.mergePatch(resource, 'rollcall-accept', { spec });
/** Each takes the policy that checks decisions away, in another way. */
const ways: readonly [string, () => Promise<unknown>][] = [
  ['its binding is deleted', () => world.plane.admin.delete(bindings, 'rollcall-accept')],
  ['it audits and does not deny', () => patchSpec(bindings, { validationActions: ['Audit'] })],
  [
    'a match condition leaves one person out',
    () =>
      patchSpec(policies, {
        matchConditions: [{ name: 'not-her', expression: `request.userInfo.username != '${writer}'` }],
      }),
  ],
  [
    'its rules are excluded',
    () =>
      patchSpec(policies, {
        matchConstraints: {
          excludeResourceRules: [
            {
              apiGroups: ['rollcall.dev'],
              apiVersions: ['*'],
              operations: ['*'],
              resources: ['clusterregistrationrequests'],
            },
          ],
        },
      }),
  ],
];

test.each(ways)(
  'a decision that is written while %s is never acted on; said again it is',
  async (way, weaken) => {
    const name = `edge-${ways.findIndex(([each]) => each === way)}`;
    const { key, id } = await aHeldRequest(name);
    await weaken();
    // The name of another person: nobody compares it now.
    await onceAllowed(() => mallory.mergePatch(requests, name, decisionPatch('Approve', key, person)));
    await until('it says why nobody is heard', async () => approver.degraded() !== undefined);
    await putBack('rollcall-accept');
    await until('people are heard again', async () => approver.degraded() === undefined);
    await isListed(`clusterregistrationrequests/${id}`);
    expect((await world.cluster(name)).decision?.verdict).toBe('held');
    // The words stand there still; a restart does not make them count.
    await approver.stop();
    approver = await world.startApprover();
    const patch = decisionPatch('Approve', key, person);
    const again = { spec: { decision: { ...patch.spec?.decision, reason: 'seen' } } };
    await until('the policy acts again', () =>
      mallory.mergePatch(requests, name, again, { dryRun: true }).then(
        () => false,
        () => true,
      ),
    );
    expect((await world.cluster(name)).decision?.verdict).toBe('held');
    await anna.mergePatch(requests, name, again);
    const { decision } = await world.clusterIs(name, (record) => record.decision?.verdict === 'approved');
    expect(decision?.by).toEqual({ person });
    await until('nothing is unproven', async () => (await admission())?.unproven.length === 0);
  },
);

test('a policy away for a moment counts as well, and so does an approver that was away then', async () => {
  const { key, id } = await aHeldRequest('brief');
  await approver.stop();
  await world.plane.admin.delete(bindings, 'rollcall-accept');
  await onceAllowed(() => mallory.mergePatch(requests, 'brief', decisionPatch('Approve', key, person)));
  await putBack('rollcall-accept');
  approver = await world.startApprover();
  await isListed(`clusterregistrationrequests/${id}`);
  expect((await world.cluster('brief')).decision?.verdict).toBe('held');
});

test('a policy away for a moment while the approver runs, with a decision in that moment', async () => {
  const { key, id } = await aHeldRequest('moment');
  const [binding] = shippedOf(bindings.kind, 'rollcall-accept');
  const patch = decisionPatch('Approve', key, person);
  await world.plane.admin.delete(bindings, 'rollcall-accept');
  const deletedAtMs = performance.now();
  await onceAllowed(() => mallory.mergePatch(requests, 'moment', patch));
  // As briefly as it was tried; the API server may take longer to forget a policy.
  await delay(Math.max(0, 215 - (performance.now() - deletedAtMs)));
  await world.plane.admin.create(bindings, binding as KubeObject);
  await isListed(`clusterregistrationrequests/${id}`);
  await until('people are heard again', async () => approver.degraded() === undefined);
  await delay(500);
  expect((await world.cluster('moment')).decision?.verdict).toBe('held');
});

test('that a policy is missing is noticed and said within ten seconds, without anybody writing', async () => {
  await until('people are heard', async () => approver.degraded() === undefined);
  await world.plane.admin.delete(bindings, 'rollcall-policies');
  const deletedAtMs = performance.now();
  await until('it is said', async () => (await admission())?.inPlace === false);
  expect(performance.now() - deletedAtMs).toBeLessThan(10_000);
  await putBack('rollcall-policies');
  await until('it holds again', async () => (await admission())?.inPlace === true);
});

test('attribution that is away for a moment is a reason to believe no name of before', async () => {
  await until('people are heard', async () => approver.degraded() === undefined);
  const before = await admission();
  const attribution = resources.mutatingAdmissionPolicyBindings;
  const policy = shippedAttribution().find(
    ({ kind, metadata }) => kind === attribution.kind && metadata.name === 'rollcall-attribution-author',
  );
  await world.plane.admin.delete(attribution, 'rollcall-attribution-author');
  await world.plane.admin.create(attribution, policy as KubeObject);
  await until('it is said', async () => (await admission())?.version !== before?.version);
  expect(await admission()).toMatchObject({ inPlace: true });
});

const rules = (effect: string) => ({ rules: [{ name: 'all', when: 'true', effect }] });
const policyObject = (name: string, effect: string) => ({
  apiVersion,
  kind: 'ApprovalPolicy',
  metadata: { name },
  spec: rules(effect),
});
const policyIs = async (name: string) =>
  policyDeclaration(await world.registrar.read({ kind: 'policy', id: name }));

test('policies, tokens and sets that are written, or policies that are deleted, meanwhile are not in force; what was stays so', async () => {
  const { admin } = world.plane;
  await anna.create(resources.approvalPolicies, policyObject('deny-all', 'Hold'));
  await anna.create(resources.approvalPolicies, policyObject('careful', 'Hold'));
  for (const name of ['deny-all', 'careful'])
    await until(`policy ${name} is in force`, async () => (await policyIs(name))?.rules.length === 1);
  await admin.delete(bindings, 'rollcall-policies');
  await onceAllowed(() => mallory.create(resources.approvalPolicies, policyObject('mine', 'Approve')));
  await mallory.mergePatch(resources.approvalPolicies, 'careful', { spec: rules('Approve') });
  await mallory.delete(resources.approvalPolicies, 'deny-all');
  const { tokenId } = await world.makeToken('theirs');
  const set = { apiVersion, kind: 'ManagedClusterSet', metadata: { name: 'theirs' } };
  await mallory.create(resources.managedClusterSets, {
    ...set,
    spec: { selector: { type: 'ExclusiveLabel' } },
  });
  await putBack('rollcall-policies');
  for (const object of [
    'approvalpolicies/mine',
    'approvalpolicies/careful',
    'approvalpolicies/deny-all',
    'clusterregistrationtokens/rollcall-join/theirs',
    'managedclustersets/theirs',
  ])
    await isListed(object);
  await world.request('victim');
  await world.clusterIs('victim', ({ decision }) => decision !== undefined);
  await delay(500);
  expect((await world.cluster('victim')).decision?.verdict).toBe('held');
  expect(await policyIs('mine')).toBeUndefined();
  expect(await policyIs('careful')).toMatchObject({ rules: [{ effect: 'Hold' }], withdrawn: false });
  expect(await policyIs('deny-all')).toMatchObject({ rules: [{ effect: 'Hold' }], withdrawn: false });
  expect((await world.registrar.read({ kind: 'token', id: tokenId })).head).toBeUndefined();
  expect((await world.registrar.read({ kind: 'set', id: 'theirs' })).head).toBeUndefined();

  // Written again by somebody who may: as it is in force, and then deleted for good; or with a rule that approves.
  await anna.mergePatch(resources.approvalPolicies, 'careful', { spec: rules('Hold') });
  await isOver('approvalpolicies/careful');
  await anna.delete(resources.approvalPolicies, 'careful');
  await until('the policy is withdrawn', async () => (await policyIs('careful'))?.withdrawn === true);
  await anna.create(resources.approvalPolicies, policyObject('deny-all', 'Hold'));
  await isOver('approvalpolicies/deny-all');
  await anna.delete(resources.approvalPolicies, 'deny-all');
  await until('the policy is withdrawn', async () => (await policyIs('deny-all'))?.withdrawn === true);
  await anna.delete(resources.approvalPolicies, 'mine');
  await anna.create(resources.approvalPolicies, policyObject('mine', 'Approve'));
  await world.clusterIs('victim', ({ decision }) => decision?.verdict === 'approved');
});

/** What the API server asks nobody about: compared with what stands there, it takes nothing away. */
const elsewhere = { rules: [{ name: 'elsewhere', when: 'false', effect: 'Hold' }] };
const emptied = (name: string) =>
  mallory.mergePatch(resources.approvalPolicies, name, { spec: { rules: [] } });
const deleted = (name: string) => mallory.delete(resources.approvalPolicies, name);
test.each([
  {
    what: 'was emptied, and is changed',
    meanwhile: emptied,
    afterwards: (name: string) => mallory.mergePatch(resources.approvalPolicies, name, { spec: elsewhere }),
  },
  { what: 'was emptied, and is deleted', meanwhile: emptied, afterwards: deleted },
  {
    what: 'was deleted, and is made again',
    meanwhile: deleted,
    afterwards: (name: string) =>
      mallory.create(resources.approvalPolicies, { ...policyObject(name, 'Hold'), spec: elsewhere }),
  },
])('a policy that $what once the admission policies hold keeps the rules that are in force', async (way) => {
  const { meanwhile, afterwards, what } = way;
  const name = what.replaceAll(/[^a-z]+/g, '-');
  const object = `approvalpolicies/${name}`;
  const listed = async () => ((await admission())?.unproven ?? []).filter((each) => each.object === object);
  await anna.create(resources.approvalPolicies, policyObject(name, 'Hold'));
  await until(`policy ${name} is in force`, async () => (await policyIs(name))?.rules.length === 1);
  await world.plane.admin.delete(bindings, 'rollcall-policies');
  await onceAllowed(() => meanwhile(name));
  await putBack('rollcall-policies');
  await isListed(object);
  const before = await listed();
  await afterwards(name);
  await until('it was looked at', async () => {
    const now = await listed();
    return !now.some(({ word }) => word === before[0]?.word);
  });
  expect(await listed()).toHaveLength(1);
  expect(await policyIs(name)).toMatchObject({ rules: [{ name: 'all', effect: 'Hold' }], withdrawn: false });

  // Anybody who may write policies may add what is in force; taking it away takes a right, and then it counts.
  const spec = { rules: [...rules('Hold').rules, ...elsewhere.rules] };
  if (await mallory.get(resources.approvalPolicies, { name }))
    await mallory.mergePatch(resources.approvalPolicies, name, { spec });
  else await mallory.create(resources.approvalPolicies, { ...policyObject(name, 'Hold'), spec });
  await until('nothing is unproven', async () => (await listed()).length === 0);
  await expect(mallory.delete(resources.approvalPolicies, name)).rejects.toThrow('accept');
  await anna.delete(resources.approvalPolicies, name);
  await until('the policy is withdrawn', async () => (await policyIs(name))?.withdrawn === true);
});

test('tokens of a tenant, where tokens do not count, keep nobody from being heard, however many there are', async () => {
  await applyManifests(world.plane.admin, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant' } },
  ]);
  for (let made = 0; made <= mostUnproven; made += 20)
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => world.makeToken(`t-${made + index}`, {}, 'tenant')),
    );
  await world.plane.admin.delete(bindings, 'rollcall-policies');
  await onceAllowed(() => mallory.create(resources.approvalPolicies, policyObject('marker', 'Approve')));
  await putBack('rollcall-policies');
  await isListed('approvalpolicies/marker');
  const ofTenant = ({ object }: { object: string }) => object.startsWith('clusterregistrationtokens/tenant/');
  expect((await admission())?.unproven.filter(ofTenant)).toEqual([]);
});

test('access, a set and an acceptance that were written meanwhile change nothing until they are written again', async () => {
  const { aggregate } = await world.cluster('victim');
  await world.showCluster('victim');
  const { head } = await world.cluster('victim');
  const projector = world.plane.clientFor('system:serviceaccount:rollcall-system:rollcall-projector');
  const show = { status: { observed: head } };
  await projector.mergePatch(resources.managedClusters, 'victim', show, { subresource: 'status' });
  projector.close();
  await world.plane.admin.delete(bindings, 'rollcall-operation');
  await onceAllowed(() =>
    mallory.mergePatch(resources.managedClusters, 'victim', {
      spec: { access: 'Namespace', hubAcceptsClient: false },
    }),
  );
  await putBack('rollcall-operation');
  await isListed('managedclusters/victim');
  expect((await world.cluster('victim')).decision).toMatchObject({ verdict: 'approved', access: 'None' });
  await anna.mergePatch(resources.managedClusters, 'victim', { spec: { access: 'None' } });
  await isOver('managedclusters/victim', 'access:Namespace');
  await anna.mergePatch(resources.managedClusters, 'victim', { spec: { access: 'Namespace' } });
  const { decision } = await world.clusterIs('victim', (record) => record.decision?.access === 'Namespace');
  expect(decision?.verdict).toBe('approved');
  expect(aggregate.id).toBe(decision && (await world.cluster('victim')).aggregate.id);
});

test('however much is written meanwhile, who has the right is heard afterwards, and nothing of it counts', async () => {
  // A hub whose policies are missing before it has ever seen them is being installed.
  await until('people are heard', async () => approver.degraded() === undefined);
  // The policy of a test before would let it in.
  if (await anna.get(resources.approvalPolicies, { name: 'mine' })) {
    await anna.delete(resources.approvalPolicies, 'mine');
    await until('the policy is withdrawn', async () => (await policyIs('mine'))?.withdrawn === true);
  }
  const { key, id } = await aHeldRequest('crowd');
  const { admin } = world.plane;
  await admin.delete(bindings, 'rollcall-accept');
  await onceAllowed(() => mallory.mergePatch(requests, 'crowd', decisionPatch('Approve', key, person)));
  const tokenIds: string[] = [];
  for (let made = 0; made <= mostUnproven; made += 20) {
    const some = Array.from({ length: 20 }, (_, index) => world.makeToken(`crowd-${made + index}`));
    tokenIds.push(...(await Promise.all(some)).map(({ tokenId }) => tokenId));
  }
  await putBack('rollcall-accept');
  await isListed(`clusterregistrationrequests/${id}`);
  const first = await admission();
  expect(first?.unproven).toHaveLength(mostUnproven);
  expect(first?.unlisted).toBeGreaterThan(0);
  const declared = async () =>
    (await Promise.all(tokenIds.map((token) => world.registrar.read({ kind: 'token', id: token })))).filter(
      ({ head }) => head !== undefined,
    );
  // An approver that was away then as well: its list is its own.
  await approver.stop();
  approver = await world.startApprover();
  await until('people are heard', async () => approver.degraded() === undefined);
  await until('the policy acts again', () =>
    mallory.mergePatch(requests, 'crowd', decisionPatch('Deny', key, person), { dryRun: true }).then(
      () => false,
      () => true,
    ),
  );
  expect((await world.cluster('crowd')).decision?.verdict).toBe('held');
  expect(await declared()).toEqual([]);
  await anna.mergePatch(requests, 'crowd', decisionPatch('Deny', key, person));
  const { decision } = await world.clusterIs('crowd', (record) => record.decision?.verdict === 'denied');
  expect(decision?.by).toEqual({ person });
  // Also of what has no place in the event: what is written again counts.
  await admin.mergePatch(
    resources.clusterRegistrationTokens,
    `crowd-${tokenIds.length - 1}`,
    { spec: { labels: { again: 'yes' } } },
    { namespace: 'rollcall-join' },
  );
  await until('it is declared', async () => (await declared()).length === 1);
});

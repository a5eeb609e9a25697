import { confirmations } from '@rollcall/shared/resources';
import { createKubeClient, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  aCluster,
  aProjection,
  aRequest,
  type GuardedHub,
  outcomeOf,
  startGuardedHub,
} from './guarded-hub.ts';

/** A person who may write everything of ours by RBAC, subresources and all, and has none of the admission policies' rights. */
const mallory = 'mallory';
const ours = [
  resources.clusterRegistrationRequests,
  resources.managedClusters,
  resources.clusterRegistrationTokens,
  resources.approvalPolicies,
  resources.managedClusterSets,
];
const everything = [
  {
    apiGroups: ['rollcall.dev'],
    resources: ours.flatMap(({ plural }) =>
      ['', '/status', '/scale', '/finalizers'].map((sub) => plural + sub),
    ),
    verbs: ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  },
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'update', 'patch', 'delete'] },
];

let hub: GuardedHub;
let projector: KubeClient;
let attacker: KubeClient;
let disguised: KubeClient;
const { clusterRegistrationRequests: requests, managedClusters: clusters } = resources;

beforeAll(async () => {
  hub = await startGuardedHub();
  projector = hub.service('projector');
  attacker = hub.as(mallory);
  disguised = createKubeClient(attacker.access, {
    fieldManager: 'rollcall-projector',
    userAgent: 'rollcall-projector',
  });
  await hub.grant(mallory, everything);
  await hub.grant('boss', 'rollcall-admin');
  await hub.grant('revokes-a', [
    ...everything,
    {
      apiGroups: ['rollcall.dev'],
      resources: ['managedclusters/revoke'],
      verbs: ['create'],
      resourceNames: ['a'],
    },
  ]);
  await projector.create(requests, aRequest('r-1', { knownKeyFingerprint: 'K0' }));
  await projector.create(clusters, aProjection('c-1', {}, { finalizers: ['rollcall.dev/leave'] }));
});
afterAll(async () => {
  disguised?.close();
  await hub?.[Symbol.asyncDispose]();
});

const approval = { verdict: 'Approve', keyFingerprint: 'K1', by: mallory };
const ban = { id: 'w1', verb: 'Ban', keyFingerprint: 'K1', by: mallory };
const stored = async (resource: typeof requests | typeof clusters, name: string) =>
  (await hub.admin.get<KubeObject<Record<string, unknown>>>(resource, { name }))?.spec;
const shape = ({ apiVersion, kind, metadata }: KubeObject) => ({ apiVersion, kind, metadata });

describe('a decision or an operation of somebody without the right', () => {
  test.each([
    {
      name: 'by merge patch',
      write: () => attacker.mergePatch(requests, 'r-1', { spec: { decision: approval } }),
      want: 'managedclusters/accept',
    },
    {
      name: 'by server-side apply as our field manager',
      write: () =>
        disguised.apply(
          requests,
          { ...shape(aRequest('r-1')), spec: { decision: approval } },
          { force: true },
        ),
      want: 'managedclusters/accept',
    },
    {
      name: 'through the status subresource',
      write: () =>
        attacker.mergePatch(requests, 'r-1', { spec: { decision: approval } }, { subresource: 'status' }),
      want: 'rollcall-projection',
    },
    {
      name: 'as a new request that carries it already',
      write: () => attacker.create(requests, aRequest('r-new', { decision: approval })),
      // Two policies refuse it, and either may be the one that is named.
      want: 'denied request',
    },
    {
      name: 'as an operation by merge patch',
      write: () => attacker.mergePatch(clusters, 'c-1', { spec: { operation: ban } }),
      want: 'managedclusters/revoke for "c-1"',
    },
    {
      name: 'as an operation through the status subresource',
      write: () =>
        attacker.mergePatch(clusters, 'c-1', { spec: { operation: ban } }, { subresource: 'status' }),
      want: 'rollcall-projection',
    },
    {
      name: 'as a cluster that is made with an operation',
      write: () => attacker.create(clusters, aCluster('c-new', { operation: ban })),
      want: 'managedclusters/revoke for "c-new"',
    },
    {
      name: 'as a cluster that is made with an acceptance',
      write: () => attacker.create(clusters, aCluster('c-new', { hubAcceptsClient: true })),
      want: 'managedclusters/accept',
    },
    {
      name: 'about another cluster than the right is for',
      write: () =>
        hub.as('revokes-a').mergePatch(clusters, 'c-1', { spec: { operation: { ...ban, by: 'revokes-a' } } }),
      want: 'managedclusters/revoke for "c-1"',
    },
    {
      name: 'by the scale subresource',
      write: () => attacker.mergePatch(clusters, 'c-1', { spec: { replicas: 0 } }, { subresource: 'scale' }),
      want: 'not found',
    },
  ])('$name', async ({ write, want }) => {
    expect(await outcomeOf(write())).toContain(want);
    expect(await stored(requests, 'r-1')).not.toHaveProperty('decision');
    expect(await stored(clusters, 'c-1')).not.toHaveProperty('operation');
    expect(await hub.admin.get(clusters, { name: 'c-new' })).toBeUndefined();
  });

  test('a cluster that was deleted and made again needs the same right', async () => {
    await hub.as('boss').create(clusters, aCluster('again', { hubAcceptsClient: false }));
    expect(await outcomeOf(attacker.delete(clusters, 'again'))).toBe('allowed');
    const remade = attacker.create(clusters, aCluster('again', { hubAcceptsClient: true }));
    expect(await outcomeOf(remade)).toContain('managedclusters/accept');
  });

  test('a dry run of somebody with the right writes nothing', async () => {
    const patch = { spec: { operation: { ...ban, by: 'boss' } } };
    expect(await outcomeOf(hub.as('boss').mergePatch(clusters, 'c-1', patch, { dryRun: true }))).toBe(
      'allowed',
    );
    expect(await stored(clusters, 'c-1')).not.toHaveProperty('operation');
  });
});

describe('what only the hub writes', () => {
  const written = (metadata: object) => outcomeOf(attacker.mergePatch(clusters, 'c-1', { metadata }));

  test('an owner that is not there would have the garbage collector delete it', async () => {
    const owner = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'gone',
      uid: 'c0ffee00-0000-4000-8000-000000000000',
    };
    expect(await written({ ownerReferences: [owner] })).toContain('ownerReferences cannot be written');
    const made = attacker.create(clusters, aCluster('owned', {}, { ownerReferences: [owner] }));
    expect(await outcomeOf(made)).toContain('ownerReferences cannot be written');
  });

  test('the finalizer, on and off', async () => {
    expect(await written({ finalizers: null })).toContain('delete the object and wait');
    const made = attacker.create(clusters, aCluster('final', {}, { finalizers: ['rollcall.dev/leave'] }));
    expect(await outcomeOf(made)).toContain('delete the object and wait');
  });

  test.each(['rollcall.dev/cluster-id', 'rollcall.dev/anything', 'x.rollcall.dev/anything'])(
    'the label %s',
    async (label) => {
      expect(await written({ labels: { [label]: 'x' } })).toContain('labels under rollcall.dev/');
      const made = attacker.create(clusters, aCluster('labelled', {}, { labels: { [label]: 'x' } }));
      expect(await outcomeOf(made)).toContain('labels under rollcall.dev/');
    },
  );

  test('the key that a cluster is known by', async () => {
    const changed = attacker.mergePatch(requests, 'r-1', { spec: { knownKeyFingerprint: null } });
    expect(await outcomeOf(changed)).toContain('only spec.decision of a request can be changed');
  });
});

describe('in the name of another', () => {
  const annotation = 'rollcall.dev/leave-requested-by';
  const ask = (userName: string, by: string | null) =>
    outcomeOf(
      hub.as(userName).mergePatch(clusters, 'c-1', { metadata: { annotations: { [annotation]: by } } }),
    );

  test('nobody asks for a deletion', async () => {
    expect(await ask(mallory, 'boss')).toContain('must be your own user name');
    expect(await ask(mallory, mallory)).toBe('allowed');
    expect(await ask(mallory, null)).toBe('allowed');
  });

  test('an operation must say which key it is about, and the refusal prints the line', async () => {
    const keyless = hub
      .as('boss')
      .mergePatch(clusters, 'c-1', { spec: { operation: { id: 'w2', verb: 'Revoke' } } });
    expect(await outcomeOf(keyless)).toContain(
      `kubectl patch managedclusters.rollcall.dev c-1 --type=merge -p '{"spec":{"operation":{"id":"w2","verb":"Revoke","keyFingerprint":"KEY","by":"boss"}}}'`,
    );
  });
});

describe('confirming a bulk change', () => {
  const { name, namespace } = confirmations;
  const confirm = (userName: string, data: object) =>
    outcomeOf(hub.as(userName).mergePatch(resources.configMaps, name, { data }, { namespace }));

  test('needs revoke on all clusters, in one’s own name, and by never changes alone', async () => {
    expect(await confirm(mallory, { confirm: 'w-1', by: mallory })).toContain(
      'managedclusters/revoke for all',
    );
    expect(await confirm('revokes-a', { confirm: 'w-1', by: 'revokes-a' })).toContain('for all clusters');
    expect(await confirm('boss', { confirm: 'w-1', by: mallory })).toContain(
      `data.by must be your own user name: kubectl -n rollcall-system patch configmap rollcall-confirmations`,
    );
    expect(await confirm('boss', { confirm: 'w-1', by: 'boss' })).toBe('allowed');
    expect(await confirm('boss', { by: 'boss2' })).toContain('cannot change without another');
    await hub.admin.delete(resources.configMaps, name, { namespace });
    const remade = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data: { confirm: 'w-2', by: mallory },
    };
    expect(await outcomeOf(attacker.create(resources.configMaps, remade, { namespace }))).toContain(
      'managedclusters/revoke for all',
    );
  });

  test('other ConfigMaps are nobody’s business', async () => {
    const other = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'other', namespace },
      data: { by: 'x' },
    };
    expect(await outcomeOf(attacker.create(resources.configMaps, other, { namespace }))).toBe('allowed');
  });
});

test('a token that gave a set cannot be turned away from it without join', async () => {
  const tokens = resources.clusterRegistrationTokens;
  const token = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationToken',
    metadata: { name: 't1', namespace: 'rollcall-join' },
    spec: { publish: true, clusterSet: 'red' },
  };
  await hub.as('boss').create(tokens, token);
  const turned = attacker.mergePatch(
    tokens,
    't1',
    { spec: { clusterSet: null } },
    { namespace: 'rollcall-join' },
  );
  expect(await outcomeOf(turned)).toContain('gives the set "red"');
});

import { resources } from '@rollcall/shared/kubernetes';
import type { KubeObject, Resource } from '@rollcall/shared/kubernetes';
import { kinds } from '@rollcall/shared/resources';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aCluster, aProjection, aRequest, outcomeOf, startGuardedHub } from './guarded-hub.ts';
import type { GuardedHub } from './guarded-hub.ts';

const clusters = resources.managedClusters;
const tokens = resources.clusterRegistrationTokens;
const namespace = 'rollcall-join';
const publicKey = `U${'A'.repeat(55)}`;
const aToken = (name: string, spec: object): KubeObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ClusterRegistrationToken',
  metadata: { name, namespace },
  spec,
});
const anObject = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

type Crd = KubeObject<unknown, { conditions: { type: string; status: string }[] }>;

let hub: GuardedHub;
beforeAll(async () => {
  hub = await startGuardedHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

test.each(kinds)('$kind is established with a structural schema', async ({ plural }) => {
  const crd = await hub.admin.get<Crd>(resources.customResourceDefinitions, {
    name: `${plural}.rollcall.dev`,
  });
  const typesThatHold = crd?.status?.conditions
    .filter(({ status }) => status === 'True')
    .map(({ type }) => type);
  expect(typesThatHold?.toSorted()).toEqual(['Established', 'NamesAccepted']);
});

describe('names', () => {
  test.each([
    { name: 'Foo_bar', outcome: 'must consist of lower case' },
    { name: 'a.b', outcome: 'must be a DNS label' },
    { name: 'a'.repeat(64), outcome: 'must be a DNS label' },
    { name: 'a'.repeat(63), outcome: 'allowed' },
  ])('of clusters: $name → $outcome', async ({ name, outcome }) => {
    const created = hub.admin.create(clusters, aCluster(name), { dryRun: true });
    expect(await outcomeOf(created)).toContain(outcome);
  });

  test('a request is called by its cluster id', async () => {
    const request = { ...aRequest('one'), metadata: { name: 'two' } };
    const created = hub.service('projector').create(resources.clusterRegistrationRequests, request);
    expect(await outcomeOf(created)).toContain('metadata.name must be spec.clusterId');
  });
});

const writeStatus = (status: object): Promise<string> =>
  outcomeOf(hub.service('projector').mergePatch(clusters, 'ordered', { status }, { subresource: 'status' }));

describe('order', () => {
  test.each(['observed', 'observedFacts'])('%s never goes back', async (field) => {
    await hub.service('projector').apply(clusters, aProjection('ordered'));
    const at = (epoch: number, sequence: number) => ({ [field]: { epoch, sequence } });
    expect(await writeStatus(at(2, 10))).toBe('allowed');
    expect(await writeStatus(at(2, 10))).toBe('allowed');
    expect(await writeStatus(at(2, 9))).toContain('older than what is shown already');
    expect(await writeStatus(at(1, 99))).toContain('older than what is shown already');
    expect(await writeStatus(at(2, 11))).toBe('allowed');
    expect(await writeStatus(at(3, 1))).toBe('allowed');
  });

  test('and observed cannot be taken away to begin anew', async () => {
    expect(await writeStatus({ observed: null })).toContain('status.observed cannot be removed');
  });
});

describe('fields', () => {
  test('defaults are filled in', async () => {
    const { spec } = await hub.admin.create(clusters, aCluster('defaults'), { dryRun: true });
    expect(spec).toEqual({
      clusterType: 'Standard',
      mode: 'Pull',
      namespacePolicy: 'Delete',
    });
    const token = await hub.admin.create(tokens, aToken('defaults', { publicKey }), { dryRun: true });
    expect(token.spec).toEqual({ publicKey, ttl: '24h', uses: 1 });
    const set = anObject('ManagedClusterSet', 'defaults', {});
    const { spec: setSpec } = await hub.admin.create(resources.managedClusterSets, set, { dryRun: true });
    expect(setSpec).toEqual({ selector: { type: 'ExclusiveLabel' } });
  });

  test.each<{ what: string; resource: Resource; object: KubeObject; outcome: string }>([
    { what: 'token without key', resource: tokens, object: aToken('t', {}), outcome: 'exactly one of' },
    {
      what: 'token with key and publish',
      resource: tokens,
      object: aToken('t', { publicKey, publish: true }),
      outcome: 'exactly one of',
    },
    {
      what: 'no uses',
      resource: tokens,
      object: aToken('t', { publicKey, uses: 0 }),
      outcome: 'from 1 to 1000000',
    },
    {
      what: 'uses in other words',
      resource: tokens,
      object: aToken('t', { publicKey, uses: 'many' }),
      outcome: 'or unlimited',
    },
    {
      what: 'uses unlimited',
      resource: tokens,
      object: aToken('t', { publicKey, uses: 'unlimited' }),
      outcome: 'allowed',
    },
    {
      what: 'ttl 1h30m',
      resource: tokens,
      object: aToken('t', { publicKey, ttl: '1h30m' }),
      outcome: 'allowed',
    },
    { what: 'ttl soon', resource: tokens, object: aToken('t', { publicKey, ttl: 'soon' }), outcome: 'ttl' },
    {
      what: 'a reserved label given by a token',
      resource: tokens,
      object: aToken('t', { publicKey, labels: { 'rollcall.dev/cluster-set': 'red' } }),
      outcome: 'are reserved',
    },
    {
      what: 'member address without TLS',
      resource: clusters,
      object: aCluster('c', { clientConfigs: [{ url: 'http://x' }] }),
      outcome: 'url',
    },
    {
      what: 'one taint twice',
      resource: clusters,
      object: aCluster('c', {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'a', effect: 'NoSchedule', value: 'x' },
        ],
      }),
      outcome: 'Duplicate',
    },
    {
      what: 'a taint with an effect of another system',
      resource: clusters,
      object: aCluster('c', { taints: [{ key: 'gpu', effect: 'NoSelect' }] }),
      outcome: 'Unsupported value: "NoSelect": supported values: "NoSchedule"',
    },
    {
      what: 'a label selector that is not asked for',
      resource: resources.managedClusterSets,
      object: anObject('ManagedClusterSet', 's', { selector: { labelSelector: {} } }),
      outcome: 'labelSelector is needed',
    },
  ])('$what → $outcome', async ({ resource, object, outcome }) => {
    const created = hub.admin.create(resource, object, { dryRun: true });
    expect(await outcomeOf(created)).toContain(outcome);
  });

  test('the id of a cluster and the key of a token cannot change', async () => {
    await hub.admin.create(clusters, aCluster('fixed', { clusterId: 'one' }));
    for (const clusterId of ['two', null]) {
      const changed = hub.admin.mergePatch(clusters, 'fixed', { spec: { clusterId } });
      expect(await outcomeOf(changed)).toContain('clusterId cannot be changed');
    }
    await hub.admin.create(tokens, aToken('fixed', { publicKey }));
    for (const spec of [{ publicKey: `U${'B'.repeat(55)}` }, { publicKey: null, publish: true }]) {
      const changed = hub.admin.mergePatch(tokens, 'fixed', { spec }, { namespace });
      expect(await outcomeOf(changed)).toContain('publicKey cannot be changed');
    }
    const more = hub.admin.mergePatch(tokens, 'fixed', { spec: { uses: 5 } }, { namespace });
    expect(await outcomeOf(more)).toBe('allowed');
  });
});

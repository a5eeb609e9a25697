import { resources } from '@rollcall/shared/kubernetes';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aCluster, outcomeOf, startGuardedHub } from './guarded-hub.ts';
import type { GuardedHub } from './guarded-hub.ts';

const clusters = resources.managedClusters;
const { secrets } = resources;

let hub: GuardedHub;
beforeAll(async () => {
  hub = await startGuardedHub();
  const mayWrite = { apiGroups: ['rollcall.dev'], resources: ['managedclusters'], verbs: ['*'] };
  const mayAccept = { apiGroups: ['rollcall.dev'], resources: ['managedclusters/accept'], verbs: ['create'] };
  const mayRead = {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    resourceNames: ['of-edge', 'of-other'],
  };
  await hub.grant('reader-only', [mayWrite, mayRead]);
  await hub.grant('accepter-only', [mayWrite, mayAccept]);
  await hub.grant('joiner', [mayWrite, mayAccept, mayRead]);
});
afterAll(() => hub[Symbol.asyncDispose]());

const naming = (user: string, kubeconfigSecret: string) =>
  outcomeOf(hub.as(user).create(clusters, aCluster('edge', { kubeconfigSecret }), { dryRun: true }));

describe('a kubeconfig Secret of a cluster', () => {
  test('is named by people who may accept the cluster and read the Secret', async () => {
    expect(await naming('joiner', 'of-edge')).toBe('allowed');
  });

  test('is named by nobody who may not accept the cluster', async () => {
    expect(await naming('reader-only', 'of-edge')).toContain('verb create on managedclusters/accept');
  });

  test('is named by nobody who may not read that very Secret: the hub would use it for them', async () => {
    expect(await naming('accepter-only', 'of-edge')).toContain('must be allowed to read it');
    expect(await naming('joiner', 'of-somebody-else')).toContain('must be allowed to read it');
  });

  test('cannot be another one later, and none of our services names one', async () => {
    await hub.as('joiner').create(clusters, aCluster('fixed', { kubeconfigSecret: 'of-edge' }));
    const toAnother = { spec: { kubeconfigSecret: 'of-other' } };
    expect(await outcomeOf(hub.as('joiner').mergePatch(clusters, 'fixed', toAnother))).toContain(
      'cannot be changed once it is set',
    );
    const byProjector = hub
      .service('projector')
      .create(clusters, aCluster('made', { kubeconfigSecret: 'x' }));
    // Two policies refuse it, and the API server names either.
    expect(await outcomeOf(byProjector)).toMatch(
      /spec\.kubeconfigSecret belongs to people|verb create on managedclusters\/accept/,
    );
  });
});

describe('with the agent host’s identity nobody can', () => {
  const aSecret = (name: string, namespace: string, more: object = {}): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      type: 'Opaque',
      ...more,
    }) as KubeObject;

  test('write or remove a Secret of people', async () => {
    const host = hub.service('agent-host');
    for (const namespace of ['rollcall-kubeconfigs', 'rollcall-join']) {
      await hub.admin.create(secrets, aSecret('of-people', namespace));
      const refused = [
        host.create(secrets, aSecret('another', namespace)),
        host.mergePatch(secrets, 'of-people', { data: {} }, { namespace }),
        host.delete(secrets, 'of-people', { namespace }),
      ];
      for (const outcome of await Promise.all(refused.map(outcomeOf))) expect(outcome).toContain('cannot');
    }
  });

  test('have the API server put a token into a Secret', async () => {
    const tokenSecret = aSecret('rollcall-agent-x', 'rollcall-agents', {
      metadata: {
        name: 'rollcall-agent-x',
        namespace: 'rollcall-agents',
        annotations: { 'kubernetes.io/service-account.name': 'default' },
      },
      type: 'kubernetes.io/service-account-token',
    });
    expect(await outcomeOf(hub.service('agent-host').create(secrets, tokenSecret))).toContain(
      'type Opaque only',
    );
  });

  test('read a Secret anywhere else, a cluster or a token', async () => {
    const host = hub.service('agent-host');
    const refused = [
      host.list(secrets, { namespace: 'rollcall-system' }),
      host.list(secrets),
      host.list(clusters),
      host.list(resources.clusterRegistrationTokens, { namespace: 'rollcall-join' }),
    ];
    for (const outcome of await Promise.all(refused.map(outcomeOf)))
      expect(outcome).toContain('is forbidden');
  });

  test('write a Secret elsewhere than beside its own keys, even with every right of RBAC', async () => {
    const host = hub.service('agent-host');
    const metadata = { name: 'rollcall-agent-id-1', namespace: 'rollcall-agents' };
    expect(await outcomeOf(host.create(secrets, aSecret(metadata.name, metadata.namespace)))).toBe('allowed');
    expect(await outcomeOf(host.delete(secrets, metadata.name, metadata))).toBe('allowed');
    await hub.grant('system:serviceaccount:rollcall-system:rollcall-agent-host', [
      { apiGroups: [''], resources: ['secrets'], verbs: ['*'] },
    ]);
    for (const namespace of ['rollcall-kubeconfigs', 'rollcall-join', 'default'])
      expect(await outcomeOf(host.create(secrets, aSecret('another', namespace)))).toContain(
        'may write Secrets in namespace rollcall-agents only',
      );
  });
});

test('who may join members reads kubeconfigs, and neither tokens nor the keys of the agents that the hub runs', async () => {
  await hub.admin.create(resources.roleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'joiner', namespace: 'rollcall-kubeconfigs' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rollcall-joiner' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'who-joins' }],
  } as KubeObject);
  await hub.grant('who-joins', 'rollcall-admin');
  const reads = (namespace: string) =>
    outcomeOf(hub.as('who-joins').get(secrets, { name: 'rollcall-agent-id-1', namespace }));
  await expect.poll(() => reads('rollcall-kubeconfigs'), { timeout: 30_000 }).toBe('allowed');
  expect(await reads('rollcall-agents')).toContain('cannot get');
  expect(await reads('rollcall-join')).toContain('cannot get');
});

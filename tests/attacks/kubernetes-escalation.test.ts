import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lookBinding } from '../../services/rbac-provisioner/access/member-access-objects.ts';
import { aProjection, aRequest, type GuardedHub, outcomeOf } from '../admission/guarded-hub.ts';
import { byAnybody } from './kubernetes-attacks.anybody.ts';
import { byProjector } from './kubernetes-attacks.projector.ts';
import { byProvisioner } from './kubernetes-attacks.provisioner.ts';
import {
  type Attack,
  rbac,
  toClusterAdmin,
  memberOf,
  thief,
  tokenFor,
  ours,
  own,
  secretOf,
  expectRefused,
  startKubernetesStage,
} from './kubernetes-stage.ts';

/**
 * What the Kubernetes user of each service, and a member that was given access, can do beyond its work: nothing. RBAC and admission policies
 * as shipped, on a real API server; each refusal of a write stands in the audit log with who it was (docs/security/identities.md).
 */
let hub: GuardedHub;
beforeAll(async () => {
  hub = await startKubernetesStage();
});
afterAll(() => hub[Symbol.asyncDispose]());

describe('a stolen provisioner', () => {
  test.each(byProvisioner)('$name: refused', (attack) =>
    expectRefused(hub, thief('rbac-provisioner'), attack),
  );
});

describe('a stolen provisioner that gives itself the look into a namespace of its own', () => {
  test('reads what is there, as it could by a token of the member, and nothing elsewhere; and loses it with the binding', async () => {
    const provisioner = hub.service('rbac-provisioner');
    const secretsIn = (namespace: string) => outcomeOf(provisioner.list(resources.secrets, { namespace }));
    await provisioner.create(resources.roleBindings, lookBinding('member-b'));
    await expect.poll(() => secretsIn('member-b'), { timeout: 30_000 }).toBe('allowed');
    for (const elsewhere of [
      'member-a',
      'payments',
      'rollcall-kubeconfigs',
      'rollcall-agents',
      'rollcall-system',
    ])
      expect(await secretsIn(elsewhere)).toContain('cannot list');
    expect(await outcomeOf(provisioner.list(resources.secrets))).toContain('cannot list');
    const write = provisioner.create(resources.secrets, secretOf('x', 'member-b'));
    expect(await outcomeOf(write)).toContain('cannot create');
    await provisioner.delete(resources.roleBindings, 'rollcall-namespace-look', { namespace: 'member-b' });
    await expect.poll(() => secretsIn('member-b'), { timeout: 30_000 }).toContain('cannot list');
  });
});

describe('a stolen projector', () => {
  test.each(byProjector)('$name: refused', (attack) => expectRefused(hub, thief('projector'), attack));

  test('slips a spec through the status of a token: it is dropped', async () => {
    const how = { namespace: 'rollcall-join', subresource: 'status' };
    const patch = { spec: { uses: 'unlimited' } };
    await hub.service('projector').mergePatch(ours.tokens, 'live', patch, how);
    const token = await hub.admin.get<KubeObject<object>>(ours.tokens, {
      name: 'live',
      namespace: how.namespace,
    });
    expect(token?.spec).not.toMatchObject(patch.spec);
  });

  test('takes the finalizer off and deletes: not a person’s deletion, the cluster is made again', async () => {
    const projector = hub.service('projector');
    await projector.create(ours.clusters, aProjection('c-2', {}, { finalizers: ['rollcall.dev/leave'] }));
    await projector.mergePatch(ours.clusters, 'c-2', { metadata: { finalizers: null } });
    expect(await outcomeOf(projector.delete(ours.clusters, 'c-2'))).toBe('allowed');
    expect(await hub.admin.get(ours.clusters, { name: 'c-2' })).toBeUndefined();
  });
});

describe.each([
  'approver',
  'admission-probe',
  'projector',
  'rbac-provisioner',
  'heartbeat',
  'registrar',
  'account-controller',
])('a stolen %s', (service) => {
  test.each(byAnybody)('$name: refused', (attack) => expectRefused(hub, thief(service), attack));
});

describe('a stolen approver', () => {
  const byApprover: readonly Attack[] = [
    {
      name: 'writes a decision in the name of a person',
      attempt: (client) =>
        client.mergePatch(ours.requests, 'r-1', { spec: { decision: { verdict: 'Approve' } } }),
      want: 'cannot patch',
    },
    {
      name: 'deletes a cluster',
      attempt: (client) => client.delete(ours.clusters, 'c-1'),
      want: 'cannot delete',
    },
    {
      name: 'reads Secrets of published tokens',
      attempt: (client) => client.list(resources.secrets, { namespace: 'rollcall-join' }),
      want: 'cannot list',
      isRead: true,
    },
  ];
  test.each(byApprover)('$name: refused', (attack) => expectRefused(hub, thief('approver'), attack));

  test('with the probe’s kubeconfig beside it makes nothing for real', async () => {
    const attempt = (client: KubeClient) => client.create(ours.requests, aRequest('r-3'));
    await expectRefused(hub, thief('admission-probe'), { name: '', attempt, want: 'denied request' });
  });
});

describe('a member that was given access', () => {
  const member = 'system:serviceaccount:member-a:rollcall-member';
  const byMember: readonly Attack[] = [
    {
      name: 'reads Secrets of another member',
      attempt: (client) => client.list(resources.secrets, { namespace: 'member-b' }),
      want: 'cannot list',
      isRead: true,
    },
    {
      name: 'reads Secrets everywhere',
      attempt: (client) => client.list(resources.secrets),
      want: 'cannot list',
      isRead: true,
    },
    {
      name: 'looks at other clusters',
      attempt: (client) => client.list(ours.clusters),
      want: 'cannot list',
      isRead: true,
    },
    {
      name: 'looks at its own cluster object',
      attempt: (client) => client.get(ours.clusters, { name: 'c-1' }),
      want: 'cannot get',
      isRead: true,
    },
    {
      name: 'writes into its own namespace',
      attempt: (client) => client.create(resources.secrets, secretOf('x', 'member-a')),
      want: 'cannot create',
    },
    {
      name: 'makes itself another token',
      attempt: (client) =>
        tokenFor(client, 'member-a', 'rollcall-member', { expirationSeconds: 86_400 * 365 }),
      want: 'cannot create',
    },
    {
      name: 'binds itself more rights',
      attempt: (client) =>
        client.create(
          resources.roleBindings,
          own(
            { name: 'more', namespace: 'member-a' },
            {
              apiVersion: `${rbac}/v1`,
              kind: 'RoleBinding',
              roleRef: toClusterAdmin,
              subjects: [memberOf('member-a')],
            },
          ),
        ),
      want: 'cannot create',
    },
    {
      name: 'marks its namespace',
      attempt: (client) =>
        client.mergePatch(resources.namespaces, 'member-a', { metadata: { labels: { x: 'y' } } }),
      want: 'cannot patch',
    },
  ];
  test.each(byMember)('$name: refused', (attack) => expectRefused(hub, member, attack));

  test('reads what was put into its own namespace for it', async () => {
    const found = await hub.as(member).list(resources.secrets, { namespace: 'member-a' });
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['for-the-member']);
  });
});

test('the tests themselves: with one binding too many the projector reads Secrets', async () => {
  await hub.grant(thief('projector'), 'rollcall-member');
  await expect
    .poll(() => outcomeOf(hub.service('projector').list(resources.secrets)), { timeout: 30_000 })
    .toBe('allowed');
});

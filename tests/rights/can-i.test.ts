import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bindRole, serviceUser } from '../harness/control-plane.ts';
import {
  agent,
  type KubernetesRights,
  mapParallel,
  namespaces,
  startKubernetesRights,
  users,
} from './kubernetes-rights.ts';

/**
 * What each of our users may do in Kubernetes, as a real API server says it: a committed list a user
 * (tests/rights/can-i/, `vitest run -u` writes them: a right more or less is a reviewed difference). That there is nothing beside
 * it is asked of one user here, and of all in `can-i-nothing-else.test.ts`.
 */
let rights: KubernetesRights;
beforeAll(async () => {
  rights = await startKubernetesRights();
});
afterAll(() => rights[Symbol.asyncDispose]());

test.each([...users, agent])('%s may what its committed list says', async (user) => {
  await expect(await rights.rightsInText(user)).toMatchFileSnapshot(`can-i/${user}.txt`);
});

test('the projector is refused everything else, resource by resource and verb by verb', async () => {
  const { asked, wrong } = await rights.answeredOtherwise('projector');
  expect(wrong).toEqual([]);
  expect(asked).toBeGreaterThan(1000);
});

/** Each of these is the way from one service to the whole API server, or to what people alone may do. */
const neverAnywhere = [
  ['read Secrets', '', 'secrets', ['get', 'list', 'watch']],
  ['run a pod, or a command in one', '', 'pods', ['create']],
  ['run a command in a pod', '', 'pods/exec', ['create', 'get']],
  ['be somebody else', '', 'users', ['impersonate']],
  ['be somebody else’s group', '', 'groups', ['impersonate']],
  ['be another ServiceAccount', '', 'serviceaccounts', ['impersonate']],
  ['use the nodes', '', 'nodes/proxy', ['create', 'get']],
  ['change roles', 'rbac.authorization.k8s.io', 'clusterroles', ['create', 'update', 'patch', 'escalate']],
  [
    'bind roles everywhere',
    'rbac.authorization.k8s.io',
    'clusterrolebindings',
    ['create', 'update', 'patch'],
  ],
  [
    'change roles of a namespace',
    'rbac.authorization.k8s.io',
    'roles',
    ['create', 'update', 'patch', 'bind', 'escalate'],
  ],
  ['change a binding', 'rbac.authorization.k8s.io', 'rolebindings', ['update', 'patch']],
  ['add a webhook', 'admissionregistration.k8s.io', 'validatingwebhookconfigurations', ['create', 'patch']],
  [
    'add a webhook that changes',
    'admissionregistration.k8s.io',
    'mutatingwebhookconfigurations',
    ['create', 'patch'],
  ],
  [
    'take the admission policies down',
    'admissionregistration.k8s.io',
    'validatingadmissionpolicies',
    ['update', 'patch', 'delete'],
  ],
  [
    'unbind the admission policies',
    'admissionregistration.k8s.io',
    'validatingadmissionpolicybindings',
    ['patch', 'delete'],
  ],
  [
    'change attribution',
    'admissionregistration.k8s.io',
    'mutatingadmissionpolicies',
    ['create', 'patch', 'delete'],
  ],
  [
    'change our kinds',
    'apiextensions.k8s.io',
    'customresourcedefinitions',
    ['create', 'update', 'patch', 'delete'],
  ],
  ['have a certificate', 'certificates.k8s.io', 'certificatesigningrequests', ['create']],
  [
    'approve a certificate',
    'certificates.k8s.io',
    'certificatesigningrequests/approval',
    ['update', 'patch'],
  ],
  ['sign one', 'certificates.k8s.io', 'signers', ['approve', 'sign']],
  ['decide as a person', 'rollcall.dev', 'managedclusters/accept', ['create']],
  ['revoke as a person', 'rollcall.dev', 'managedclusters/revoke', ['create']],
  ['replace a key as a person', 'rollcall.dev', 'managedclusters/replacekey', ['create']],
  ['delete by force as a person', 'rollcall.dev', 'managedclusters/forcedelete', ['create']],
  ['make tokens', 'rollcall.dev', 'clusterregistrationtokens', ['create', 'update', 'patch']],
  ['write policies', 'rollcall.dev', 'approvalpolicies', ['create', 'update', 'patch', 'delete']],
  ['delete everything at once', 'rollcall.dev', 'managedclusters', ['deletecollection']],
] as const;

/** Who is there to read the Secrets of a namespace of the hub, and which (ADR 19). */
const readersOfSecrets: Readonly<Record<string, readonly string[]>> = {
  'rollcall-kubeconfigs': ['agent-host get', 'agent-host list', 'agent-host watch'],
  'rollcall-agents': ['agent-host get', 'agent-host list', 'agent-host watch'],
  'rollcall-join': ['agent-host get', 'agent-host list', 'agent-host watch', 'rbac-provisioner get'],
};
const isAtWork = (one: { user: string; namespace: string | undefined; verb: string }, resource: string) =>
  resource === 'secrets' && readersOfSecrets[one.namespace ?? '']?.includes(`${one.user} ${one.verb}`);

describe('none of our services may, in any namespace', () => {
  test.each(neverAnywhere)('%s', async (_, group, resource, forbidden) => {
    const asked = users.flatMap((user) =>
      [undefined, ...namespaces].flatMap((namespace) => forbidden.map((verb) => ({ user, namespace, verb }))),
    );
    const may = await mapParallel(asked, ({ user, namespace, verb }) =>
      rights.isAllowed(
        user,
        { group, resource },
        { verb, ...(namespace === undefined ? {} : { namespace }) },
      ),
    );
    expect(asked.filter((one, at) => may[at] && !isAtWork(one, resource))).toEqual([]);
  });
});

test('a right more in RBAC is found: the list is not the committed one any more', async () => {
  const before = await rights.rightsInText('heartbeat');
  expect(before).toBe('nothing\n');
  await bindRole(rights.plane.admin, serviceUser('heartbeat'), 'rollcall-member');
  await expect.poll(() => rights.rightsInText('heartbeat'), { timeout: 30_000 }).toContain('  get secrets\n');
  expect(await rights.isAllowed('heartbeat', { group: '', resource: 'secrets' }, { verb: 'list' })).toBe(
    true,
  );
});

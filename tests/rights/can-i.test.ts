import { applyManifests, type KubeClient, type KubeObject } from '@rollcall/shared/kubernetes';
import { serviceRoles } from '@rollcall/shared/rights';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentAccount, agentManifest } from '../harness/agent-manifest.ts';
import {
  bindRole,
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../harness/control-plane.ts';
import { apiSurface, reviews, type RulesReview, type Target, verbs } from './api-surface.ts';

/**
 * What each of our users may do in Kubernetes, as a real API server says it: a committed list a user
 * (tests/rights/can-i/, `vitest run -u` writes them: a right more or less is a reviewed difference), and nothing beside it.
 */
const users = [...Object.keys(serviceRoles), 'admission-probe'];
/** Of a member, which is a cluster of its own; here it is the same one. */
const agent = 'agent';
const namespaces = [
  'default',
  'kube-system',
  'rollcall-join',
  'rollcall-kubeconfigs',
  'rollcall-agents',
  'rollcall-system',
  'rollcall-agent',
];

function accountOf(name: string): { user: string; groups: readonly string[] } {
  if (name === agent) return agentAccount;
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:rollcall-system', 'system:authenticated'];
  return { user: serviceUser(name), groups };
}

let plane: TestControlPlane;
let surface: Target[];
/** What everybody who is authenticated may do anyway: to ask what one may do, and to discover. */
let everybody: ReadonlySet<string>;

const lineOf = (verb: string, group: string, resource: string, name?: string): string =>
  `${verb} ${group === '' ? '' : `${group}/`}${resource}${name === undefined ? '' : ` "${name}"`}`;

/** Every right of a user in a namespace, one a line: by the API server's own list of its rules. */
async function rightsIn(client: KubeClient, namespace: string): Promise<Set<string>> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    metadata: {},
    spec: { namespace },
  };
  const { status } = (await client.create(reviews.rules, review as never)) as unknown as RulesReview;
  const lines = status.resourceRules.flatMap(
    ({ verbs: may, apiGroups = [], resources = [], resourceNames }) =>
      may.flatMap((verb) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            (resourceNames ?? [undefined]).map((name) => lineOf(verb, group, resource, name)),
          ),
        ),
      ),
  );
  const paths = status.nonResourceRules.flatMap(({ verbs: may, nonResourceURLs = [] }) =>
    may.flatMap((verb) => nonResourceURLs.map((path) => `${verb} ${path}`)),
  );
  return new Set([...lines, ...paths]);
}

/** What a user may everywhere, and what more in a namespace. */
async function rightsOf(name: string): Promise<{ everywhere: Set<string>; more: Map<string, Set<string>> }> {
  const { user, groups } = accountOf(name);
  const client = plane.clientFor(user, groups);
  const found = new Map<string, Set<string>>();
  for (const namespace of namespaces) {
    found.set(namespace, (await rightsIn(client, namespace)).difference(everybody));
  }
  client.close();
  const everywhere = [...found.values()].reduce((one, other) => one.intersection(other));
  return {
    everywhere,
    more: new Map([...found].map(([namespace, all]) => [namespace, all.difference(everywhere)])),
  };
}

function inText({ everywhere, more }: Awaited<ReturnType<typeof rightsOf>>): string {
  const sections = [['everywhere', everywhere] as const, ...more].filter(([, lines]) => lines.size > 0);
  if (sections.length === 0) return 'nothing\n';
  return sections
    .map(
      ([where, lines]) =>
        `${where}:\n${[...lines]
          .toSorted()
          .map((line) => `  ${line}\n`)
          .join('')}`,
    )
    .join('');
}

async function isAllowed(
  user: string,
  target: Target,
  more: { verb: string; namespace?: string; name?: string },
) {
  const [resource, subresource] = target.resource.split('/');
  const account = accountOf(user);
  const spec = {
    user: account.user,
    groups: account.groups,
    resourceAttributes: { group: target.group, resource, subresource, ...more },
  };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec,
  } as KubeObject;
  const { status } = (await plane.admin.create(reviews.access, review)) as { status?: { allowed?: boolean } };
  return status?.allowed === true;
}

/** Many at a time, in the order of the list. */
async function mapParallel<In, Out>(all: readonly In[], work: (one: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  for (let at = 0; at < all.length; at += 64) {
    results.push(...(await Promise.all(all.slice(at, at + 64).map(work))));
  }
  return results;
}

beforeAll(async () => {
  plane = await startTestControlPlane();
  await applyManifests(plane.admin, [agentManifest()]);
  surface = await apiSurface(plane.admin);
  const nobody = plane.clientFor('nobody', accountOf('nobody').groups);
  everybody = await rightsIn(nobody, 'default');
  nobody.close();
});
afterAll(() => plane[Symbol.asyncDispose]());

describe.each([...users, agent])('%s', (user) => {
  test('may what its committed list says', async () => {
    await expect(inText(await rightsOf(user))).toMatchFileSnapshot(`can-i/${user}.txt`);
  });

  test('is refused everything else, resource by resource and verb by verb', async () => {
    const { everywhere } = await rightsOf(user);
    const asked = surface.flatMap((target) => verbs.map((verb) => ({ target, verb })));
    const answers = await mapParallel(asked, ({ target, verb }) => isAllowed(user, target, { verb }));
    const wrong = asked.flatMap(({ target, verb }, at) => {
      const line = lineOf(verb, target.group, target.resource);
      return answers[at] === (everywhere.has(line) || everybody.has(line)) ? [] : [line];
    });
    console.info(`${user}: ${asked.length} questions, ${answers.filter(Boolean).length} answered yes`);
    expect(wrong).toEqual([]);
    expect(asked.length).toBeGreaterThan(1000);
  });
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
      isAllowed(user, { group, resource }, { verb, ...(namespace === undefined ? {} : { namespace }) }),
    );
    expect(asked.filter((one, at) => may[at] && !isAtWork(one, resource))).toEqual([]);
  });
});

test('a right more in RBAC is found: the list is not the committed one any more', async () => {
  const before = inText(await rightsOf('heartbeat'));
  expect(before).toBe('nothing\n');
  await bindRole(plane.admin, serviceUser('heartbeat'), 'rollcall-member');
  await expect
    .poll(async () => inText(await rightsOf('heartbeat')), { timeout: 30_000 })
    .toContain('  get secrets\n');
  expect(await isAllowed('heartbeat', { group: '', resource: 'secrets' }, { verb: 'list' })).toBe(true);
});

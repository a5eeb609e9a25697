import type { KubeClient, Resource } from '@rollcall/shared/kubernetes';

/** Everything that an API server could be asked for, from its own discovery: nothing is left out because we forgot it. */

export interface Target {
  readonly group: string;
  /** With its subresource, as RBAC writes it. */
  readonly resource: string;
}

interface ApiGroups {
  readonly groups: readonly { readonly name: string; readonly preferredVersion: { groupVersion: string } }[];
}
interface ApiResources {
  readonly resources: readonly { readonly name: string }[];
}

const read = async <Body>(admin: KubeClient, path: string): Promise<Body> => {
  const { status, body } = await admin.raw(path);
  if (status !== 200) throw new Error(`${path}: ${status} ${body.slice(0, 200)}`);
  return JSON.parse(body) as Body;
};

/** What RBAC knows beside what is served: what may be impersonated, and our own virtual rights. */
const notServed: readonly Target[] = [
  ...['users', 'groups', 'serviceaccounts', 'uids', 'userextras/scopes'].map((resource) => ({
    group: resource.startsWith('u') && resource !== 'users' ? 'authentication.k8s.io' : '',
    resource,
  })),
  ...['accept', 'replacekey', 'revoke', 'forcedelete'].map((right) => ({
    group: 'rollcall.dev',
    resource: `managedclusters/${right}`,
  })),
  ...['join', 'bind'].map((right) => ({ group: 'rollcall.dev', resource: `managedclustersets/${right}` })),
  ...['managedclusters', 'clusterregistrationrequests', 'clusterregistrationtokens'].map((kind) => ({
    group: 'rollcall.dev',
    resource: `${kind}/finalizers`,
  })),
  { group: 'certificates.k8s.io', resource: 'signers' },
];

export async function apiSurface(admin: KubeClient): Promise<Target[]> {
  const { groups } = await read<ApiGroups>(admin, '/apis');
  const served = await Promise.all([
    read<ApiResources>(admin, '/api/v1').then(({ resources }) => ({ group: '', resources })),
    ...groups.map(async ({ name: group, preferredVersion }) => {
      const { resources } = await read<ApiResources>(admin, `/apis/${preferredVersion.groupVersion}`);
      return { group, resources };
    }),
  ]);
  const all = served.flatMap(({ group, resources }) =>
    resources.map(({ name }) => ({ group, resource: name })),
  );
  return [...all, ...notServed];
}

/** The verbs of the API, and those that only RBAC and admission know. */
export const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'bind',
  'escalate',
  'impersonate',
  'approve',
  'sign',
  'use',
] as const;

export interface RulesReview {
  readonly status: {
    readonly resourceRules: readonly {
      readonly verbs: readonly string[];
      readonly apiGroups?: readonly string[];
      readonly resources?: readonly string[];
      readonly resourceNames?: readonly string[];
    }[];
    readonly nonResourceRules: readonly {
      readonly verbs: readonly string[];
      readonly nonResourceURLs?: readonly string[];
    }[];
  };
}

export const reviews = {
  rules: {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectrulesreviews',
    kind: 'SelfSubjectRulesReview',
    namespaced: false,
  },
  access: {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'subjectaccessreviews',
    kind: 'SubjectAccessReview',
    namespaced: false,
  },
} as const satisfies Record<string, Resource>;

import { type KubeClient, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { until } from './embedded.ts';

/** The kinds by which a cluster says something of itself, reduced to what is read of them; in earnest others install them. */
export const claimKinds = {
  claims: {
    group: 'cluster.open-cluster-management.io',
    version: 'v1alpha1',
    plural: 'clusterclaims',
    kind: 'ClusterClaim',
    namespaced: false,
  },
  properties: {
    group: 'about.k8s.io',
    version: 'v1alpha1',
    plural: 'clusterproperties',
    kind: 'ClusterProperty',
    namespaced: false,
  },
} as const satisfies Record<string, Resource>;

type Claim = KubeObject<{ value: string }>;

const crdNameOf = ({ plural, group }: Resource) => `${plural}.${group}`;

/** Resolves when the API server takes objects of it. */
export async function installClaimKind(admin: KubeClient, kind: Resource): Promise<void> {
  const { group, version: name, plural, kind: kindName } = kind;
  const value = { type: 'object', properties: { value: { type: 'string' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: value } } };
  await admin.create(resources.customResourceDefinitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    // The API server takes kinds of Kubernetes' own groups only with it.
    metadata: {
      name: crdNameOf(kind),
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind: kindName },
      versions: [{ name, served: true, storage: true, schema }],
    },
  });
  await until(`${plural} are served`, () =>
    admin.list(kind).then(
      () => true,
      () => false,
    ),
  );
}

/** Resolves when it is gone: until then it cannot be installed again. */
export async function removeClaimKind(admin: KubeClient, kind: Resource): Promise<void> {
  const name = crdNameOf(kind);
  await admin.delete(resources.customResourceDefinitions, name);
  await until(
    `${name} is gone`,
    async () => !(await admin.get(resources.customResourceDefinitions, { name })),
  );
}

export async function claim(
  admin: KubeClient,
  kind: Resource,
  said: { name: string; value: string; labels?: Record<string, string> },
): Promise<void> {
  const { name, value, labels = {} } = said;
  const apiVersion = `${kind.group}/${kind.version}`;
  await admin.create<Claim>(kind, {
    apiVersion,
    kind: kind.kind,
    metadata: { name, labels },
    spec: { value },
  });
}

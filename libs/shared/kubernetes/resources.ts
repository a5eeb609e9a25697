/** One resource of the API: everything that its paths and objects are made of. The core group is `''`. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const cluster = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: false,
});
const namespaced = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});

const rbac = 'rbac.authorization.k8s.io';
const admission = 'admissionregistration.k8s.io';
const rollcall = 'rollcall.dev';

/** The resources that Rollcall works with; anything else in a manifest is found by discovery. */
export const resources = {
  namespaces: cluster('', 'v1', 'namespaces', 'Namespace'),
  nodes: cluster('', 'v1', 'nodes', 'Node'),
  secrets: namespaced('', 'v1', 'secrets', 'Secret'),
  configMaps: namespaced('', 'v1', 'configmaps', 'ConfigMap'),
  serviceAccounts: namespaced('', 'v1', 'serviceaccounts', 'ServiceAccount'),
  deployments: namespaced('apps', 'v1', 'deployments', 'Deployment'),
  roles: namespaced(rbac, 'v1', 'roles', 'Role'),
  roleBindings: namespaced(rbac, 'v1', 'rolebindings', 'RoleBinding'),
  clusterRoles: cluster(rbac, 'v1', 'clusterroles', 'ClusterRole'),
  clusterRoleBindings: cluster(rbac, 'v1', 'clusterrolebindings', 'ClusterRoleBinding'),
  customResourceDefinitions: cluster(
    'apiextensions.k8s.io',
    'v1',
    'customresourcedefinitions',
    'CustomResourceDefinition',
  ),
  validatingAdmissionPolicies: cluster(
    admission,
    'v1',
    'validatingadmissionpolicies',
    'ValidatingAdmissionPolicy',
  ),
  validatingAdmissionPolicyBindings: cluster(
    admission,
    'v1',
    'validatingadmissionpolicybindings',
    'ValidatingAdmissionPolicyBinding',
  ),
  mutatingWebhookConfigurations: cluster(
    admission,
    'v1',
    'mutatingwebhookconfigurations',
    'MutatingWebhookConfiguration',
  ),
  mutatingAdmissionPolicies: cluster(admission, 'v1', 'mutatingadmissionpolicies', 'MutatingAdmissionPolicy'),
  mutatingAdmissionPolicyBindings: cluster(
    admission,
    'v1',
    'mutatingadmissionpolicybindings',
    'MutatingAdmissionPolicyBinding',
  ),
  apiServices: cluster('apiregistration.k8s.io', 'v1', 'apiservices', 'APIService'),
  selfSubjectAccessReviews: cluster(
    'authorization.k8s.io',
    'v1',
    'selfsubjectaccessreviews',
    'SelfSubjectAccessReview',
  ),
  clusterRegistrationRequests: cluster(
    rollcall,
    'v1alpha1',
    'clusterregistrationrequests',
    'ClusterRegistrationRequest',
  ),
  managedClusters: cluster(rollcall, 'v1alpha1', 'managedclusters', 'ManagedCluster'),
  clusterRegistrationTokens: namespaced(
    rollcall,
    'v1alpha1',
    'clusterregistrationtokens',
    'ClusterRegistrationToken',
  ),
  approvalPolicies: cluster(rollcall, 'v1alpha1', 'approvalpolicies', 'ApprovalPolicy'),
  managedClusterSets: cluster(rollcall, 'v1alpha1', 'managedclustersets', 'ManagedClusterSet'),
  managedClusterSetBindings: namespaced(
    rollcall,
    'v1alpha1',
    'managedclustersetbindings',
    'ManagedClusterSetBinding',
  ),
  clusterProfiles: namespaced('multicluster.x-k8s.io', 'v1alpha1', 'clusterprofiles', 'ClusterProfile'),
} as const satisfies Record<string, Resource>;

/** `v1` or `group/version`, as objects carry it. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

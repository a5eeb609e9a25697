/** The API group and the only version of our kinds. */
export const apiGroup = 'rollcall.dev';
export const apiVersion = 'rollcall.dev/v1alpha1';

/** Kept on every ManagedCluster until the hub has taken everything of the cluster away; only the projector may touch it. */
export const leaveFinalizer = 'rollcall.dev/leave';

/** Labels that we set. All but `clusterSet` are refused from everybody except the services that own them (see deploy/admission). */
export const labels = {
  clusterId: 'rollcall.dev/cluster-id',
  clusterName: 'rollcall.dev/cluster-name',
  /** `agent` or `hub`: who asked for this cluster first. */
  registeredBy: 'rollcall.dev/registered-by',
  /** `rbac-provisioner` or `projector`: who made this object. */
  createdBy: 'rollcall.dev/created-by',
  /** The exclusive set of the cluster; changing it needs `managedclustersets/join` on the old and the new set. */
  clusterSet: 'rollcall.dev/cluster-set',
} as const;

/** Value of `createdBy` on the Secrets that `rollcall join` makes: what came with them goes when the cluster leaves. */
export const madeByJoin = 'join';

export const annotations = {
  /** `"true"` on what the provisioner made; people set `"false"` and drift is left alone. */
  autoupdate: 'rollcall.dev/autoupdate',
  /** Written by the CLI before a delete, because a bare DELETE carries no name. */
  leaveRequestedBy: 'rollcall.dev/leave-requested-by',
  /** The person who changed the spec last (of a cluster: or its labels). Filled in and guarded by the API server. */
  changedBy: 'rollcall.dev/changed-by',
  /**
   * On a token: the epoch of the hub in which a person made or renewed it. Void in a later one. Absent: by what the hub knows of
   * it.
   */
  epoch: 'rollcall.dev/epoch',
  /** RFC 3339, by a person: until then a cluster that is well stays visible, where the hub shows only exceptions (ADR 18). */
  showUntil: 'rollcall.dev/show-until',
} as const;

/** Label and annotation prefixes that neither agents nor policies may set; subdomains are reserved as well. */
export const reservedPrefixes = ['rollcall.dev/', 'kubernetes.io/', 'k8s.io/'] as const;

/**
 * The ConfigMap in which a person confirms a bulk change: `confirm` is the id, `by` who says so. Shipped empty in
 * deploy/rbac, so that nobody needs the right to make one.
 */
export const confirmations = { name: 'rollcall-confirmations', namespace: 'rollcall-system' } as const;

/** Namespaces of the hub with a meaning to the admission policies. No two of the last three have the same readers, so no two are one (ADR 19). */
export const namespaces = {
  system: 'rollcall-system',
  /** Registration tokens, and the Secrets with which they are published. */
  join: 'rollcall-join',
  /** Secrets with kubeconfigs of members, as people or Cluster API put them there. */
  kubeconfigs: 'rollcall-kubeconfigs',
  /** What the agents keep that the hub runs for members in mode Push. */
  agents: 'rollcall-agents',
} as const;

import { approvalPolicy } from './approval-policy.ts';
import { clusterRegistrationRequest } from './cluster-registration-request.ts';
import { clusterRegistrationToken } from './cluster-registration-token.ts';
import { managedClusterSetBinding } from './managed-cluster-set-binding.ts';
import { managedClusterSet } from './managed-cluster-set.ts';
import { managedCluster } from './managed-cluster.ts';

export { type ApprovalPolicy, maxPolicyRules } from './approval-policy.ts';
export type { ClusterRegistrationRequest } from './cluster-registration-request.ts';
export type { ClusterRegistrationToken } from './cluster-registration-token.ts';
export {
  type AccessProvider,
  clusterManager,
  type ClusterProfile,
  type ClusterProperty,
  clusterSetLabel,
} from './cluster-profile.ts';
export type { Condition } from './condition.ts';
export { crdOf } from './crd.ts';
export {
  dataOfOperations,
  heldOperationsPlace,
  readShownOperations,
  type ShownOperation,
  type ShownOperations,
} from './held-operations.ts';
export type { ManagedClusterSetBinding } from './managed-cluster-set-binding.ts';
export type { ManagedClusterSet } from './managed-cluster-set.ts';
export type { ManagedCluster } from './managed-cluster.ts';
export {
  annotations,
  apiGroup,
  apiVersion,
  confirmations,
  labels,
  leaveFinalizer,
  madeByJoin,
  namespaces,
  reservedPrefixes,
} from './names.ts';
export type { Kind } from './object.ts';
export {
  approvalPolicy,
  clusterRegistrationRequest,
  clusterRegistrationToken,
  managedCluster,
  managedClusterSet,
  managedClusterSetBinding,
};

/** Our six kinds. */
export const kinds = [
  managedCluster,
  clusterRegistrationRequest,
  clusterRegistrationToken,
  approvalPolicy,
  managedClusterSet,
  managedClusterSetBinding,
] as const;

export { requestAccountToken } from './kubeconfig/account-token.ts';
export { type AppliedObject, applyManifests } from './apply-manifests.ts';
export { createKubeClient } from './client.ts';
export type { KubeClient } from './kube-client.ts';
export type { KubeAccess, TokenSource } from './kubeconfig/kube-access.ts';
export {
  KubeApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
} from './kube-api-error.ts';
export { readJsonLines } from './json-lines.ts';
export { loadKubeAccess } from './kubeconfig/kubeconfig.ts';
export { objectKey, type KubeObject, type StoredObject } from './objects.ts';
export { createResourceCache, type ResourceCache } from './resource-cache.ts';
export { createResourceFinder } from './resource-finder.ts';
export { apiVersionOf, resources, type Resource } from './resources.ts';
export { watchResource, type WatchEvent, type WatchOptions } from './watch.ts';
export { kubeconfigYaml } from './kubeconfig/write-kubeconfig.ts';

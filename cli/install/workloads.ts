import type { KubeObject, Resource } from '@rollcall/shared/kubernetes';

/** Kinds that only an installation looks at. */
export const statefulSets: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
};
export const events: Resource = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
export const storageClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
};
export const persistentVolumes: Resource = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumes',
  kind: 'PersistentVolume',
  namespaced: false,
};
export const persistentVolumeClaims: Resource = {
  group: '',
  version: 'v1',
  plural: 'persistentvolumeclaims',
  kind: 'PersistentVolumeClaim',
  namespaced: true,
};
export const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

/** Only what is read of it. */
export type Deployment = KubeObject<
  { replicas?: number; selector: { matchLabels: Record<string, string> } },
  { observedGeneration?: number; updatedReplicas?: number; availableReplicas?: number; replicas?: number }
>;

interface ContainerState {
  readonly waiting?: { reason?: string; message?: string };
  readonly terminated?: { reason?: string; message?: string; exitCode?: number };
}

export type Pod = KubeObject<
  unknown,
  {
    phase?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  }
>;

/** What Kubernetes notes about an object. */
export type ClusterEvent = KubeObject & {
  readonly involvedObject: { readonly kind?: string; readonly name?: string; readonly uid?: string };
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string;
  readonly eventTime?: string;
};

export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

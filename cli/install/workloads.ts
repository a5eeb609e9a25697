import type { KubeObject, Resource } from '@rollcall/shared/kubernetes';

/** Kinds that only an installation looks at. */
export const statefulSets: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
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

export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

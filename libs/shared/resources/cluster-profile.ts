import type { KubeObject } from '@rollcall/shared/kubernetes';
import type { Condition } from './condition.ts';

/** Who we are among the cluster managers whose profiles lie in a namespace: of those that carry this label ours are the ones of this name. */
export const clusterManager = { label: 'x-k8s.io/cluster-manager', name: 'rollcall' } as const;
/** The exclusive set of the cluster, under the name that SIG Multicluster has for it. */
export const clusterSetLabel = 'multicluster.x-k8s.io/clusterset';

export interface ClusterProperty {
  readonly name: string;
  readonly value: string;
  readonly lastObservedTime?: string;
}

/** A way to the API of the cluster, for the plugin of that name. */
export interface AccessProvider {
  readonly name: string;
  /** As in a kubeconfig. */
  readonly cluster: { readonly server: string; readonly 'certificate-authority-data'?: string };
}

interface Spec {
  readonly displayName: string;
  readonly clusterManager: { readonly name: string };
}
interface Status {
  readonly conditions?: Condition[];
  readonly version?: { readonly kubernetes?: string };
  readonly properties?: readonly ClusterProperty[];
  readonly accessProviders?: readonly AccessProvider[];
}

/** A kind of SIG Multicluster (KEP-4322), as far as we write it. */
export type ClusterProfile = KubeObject<Spec, Status> & { readonly spec: Spec };

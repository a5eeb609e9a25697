import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { inClusterAccess } from '@rollcall/shared/kubernetes/in-cluster';

export interface MemberFlags {
  readonly memberKubeconfig?: string;
  readonly memberContext?: string;
  /** Hidden aliases, for people who come from Karmada. */
  readonly clusterKubeconfig?: string;
  readonly clusterContext?: string;
}

/**
 * Which API server is the member's: the flags; inside a pod its ServiceAccount; else what kubectl would use.
 * The embedded hub is never taken for a member by itself.
 * @throws RollcallError KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export async function memberAccess(flags: MemberFlags): Promise<KubeAccess> {
  const path = flags.memberKubeconfig ?? flags.clusterKubeconfig;
  const context = flags.memberContext ?? flags.clusterContext;
  const pod = path === undefined && context === undefined ? inClusterAccess() : undefined;
  if (pod) return pod;
  // Only now: reading kubeconfigs needs a YAML parser and schemas, and an agent in a pod has 65 MB.
  const { loadKubeAccess } = await import('@rollcall/shared/kubernetes');
  return loadKubeAccess({ path, context });
}

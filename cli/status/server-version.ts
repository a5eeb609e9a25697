import type { KubeClient } from '@rollcall/shared/kubernetes';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';

/**
 * What the API server says it runs, such as `v1.36.3`; undefined where it does not tell us.
 * @throws KubeApiError where it answers something else, such as that it does not know us; KUBE_UNREACHABLE
 */
export async function serverVersion(client: KubeClient): Promise<string | undefined> {
  const path = '/version';
  const { status, body } = await client.raw(path);
  // A hardened server tells its version to nobody; that is no reason not to look further.
  if (status === 403) return undefined;
  if (status !== 200) throw kubeApiError(status, body, `GET ${path}`);
  return (JSON.parse(body) as { gitVersion?: string }).gitVersion;
}

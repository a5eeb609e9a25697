import { isForbidden, type KubeClient } from '@rollcall/shared/kubernetes';
import { readJson } from '../get/read-pages.ts';

/**
 * What the API server says it runs, such as `v1.36.3`; undefined where it does not tell us.
 * @throws KubeApiError where it answers something else, such as that it does not know us; KUBE_UNREACHABLE
 */
export async function serverVersion(client: KubeClient): Promise<string | undefined> {
  try {
    const { gitVersion } = await readJson<{ gitVersion?: string }>(client, '/version', 'application/json');
    return gitVersion;
  } catch (error) {
    // A hardened server tells its version to nobody; that is no reason not to look further.
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

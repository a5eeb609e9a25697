import { join } from 'node:path';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';

/**
 * Asks the API server of a hub of `rollcall up`, as its admin.
 * @throws RollcallError KUBECONFIG_INVALID, KUBE_UNREACHABLE while it does not run; and what is asked
 */
export async function askOwnApiServer<Answer>(
  stateDir: string,
  ask: (client: KubeClient) => Promise<Answer>,
): Promise<Answer> {
  const path = join(stateDir, 'kubernetes', 'kubeconfig');
  const who = { fieldManager: 'rollcall-up', userAgent: 'rollcall-trust' };
  const client = createKubeClient(loadKubeAccess({ path, context: undefined }), who);
  return ask(client).finally(() => client.close());
}

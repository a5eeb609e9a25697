import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/**
 * Refuses a member gateway behind an API server that passes nothing on: it would wait for ever.
 * @param found - ConfigMap `extension-apiserver-authentication`, in which every API server says how it shows itself to APIs behind it
 * @throws RollcallError CONFIG_INVALID
 */
export function refuseWithoutFrontProxy(found: Pick<ConfigMap, 'data'>): void {
  if (found.data?.['requestheader-client-ca-file']) return;
  throw new RollcallError(
    'CONFIG_INVALID',
    'the API server was started without a requestheader-client-ca-file, so that it passes nothing on to the member gateway: start it with one, or set services.member-gateway.replicas to 0 in the file of --values, and nobody reaches members through this hub',
  );
}

/** @returns undefined for who may not read it */
export const readFrontProxy = (client: KubeClient): Promise<ConfigMap | undefined> =>
  client
    .get<ConfigMap>(resources.configMaps, {
      namespace: 'kube-system',
      name: 'extension-apiserver-authentication',
    })
    .catch(() => undefined);

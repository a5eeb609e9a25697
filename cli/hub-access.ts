import {
  createKubeClient,
  type KubeAccess,
  type KubeClient,
  loadKubeAccess,
} from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { say } from './output.ts';
import { stateFile } from './state-directory.ts';

export interface HubFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Hidden alias of `context`, for people who come from Karmada. */
  readonly karmadaContext?: string;
}

/**
 * Which API server is the hub's: the flags; KUBECONFIG; the embedded hub of this directory; kubectl's own default.
 * @throws RollcallError KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export function hubAccess(flags: HubFlags): KubeAccess {
  const embedded = process.env['KUBECONFIG'] ? undefined : stateFile('kubeconfig');
  return loadKubeAccess({
    path: flags.kubeconfig ?? embedded,
    context: flags.context ?? flags.karmadaContext,
  });
}

/** A client for the hub, as the person of the kubeconfig. The caller closes it. */
export function openHub(flags: HubFlags): KubeClient {
  const userAgent = `rollcall/${rollcallVersion}`;
  return createKubeClient(hubAccess(flags), { fieldManager: 'rollcall-cli', userAgent });
}

/** Before anything acts, people see on what. */
export function sayHub({ access }: Pick<KubeClient, 'access'>): void {
  say(`hub: ${access.server} (context "${access.contextName}", user "${access.userName}")`);
}

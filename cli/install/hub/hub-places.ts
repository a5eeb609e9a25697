import { type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { type HubFlags, sayHub } from '../../hub-access.ts';
import { say } from '../../terminal/output.ts';
import type { HubValues } from './hub-values.ts';
import { installClient } from '../install-client.ts';

export interface WorkloadsFlags {
  readonly workloadsKubeconfig?: string;
  readonly workloadsContext?: string;
}

export interface HubPlacesFlags extends HubFlags, WorkloadsFlags {}

/** Where a hub is installed: one cluster, or one for what people see and another for what runs. */
export interface HubPlaces {
  /** The API server of the hub. */
  readonly hub: KubeClient;
  /** That of its pods; mostly the same. */
  readonly workloads: KubeClient;
  readonly areApart: boolean;
  /** What each of them has, in the order in which it has to come. */
  readonly each: readonly { readonly client: KubeClient; readonly parts: HubValues['parts'] }[];
  close(): void;
}

/**
 * @returns the API server of the cluster that runs the pods of the hub; undefined: the flags name none of its own
 * @throws RollcallError KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export function openWorkloads({
  workloadsKubeconfig: path,
  workloadsContext: context,
}: WorkloadsFlags): KubeClient | undefined {
  if (path === undefined && context === undefined) return undefined;
  return installClient(loadKubeAccess({ path, context }));
}

/**
 * Says which clusters are acted on.
 * @throws RollcallError KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export function openHubPlaces(flags: HubPlacesFlags): HubPlaces {
  const hub = installClient(
    loadKubeAccess({ path: flags.kubeconfig, context: flags.context ?? flags.karmadaContext }),
  );
  sayHub(hub);
  const workloads = openWorkloads(flags);
  if (!workloads) {
    const both = { kubernetes: true, workloads: true };
    const each = [{ client: hub, parts: both }];
    return { hub, workloads: hub, areApart: false, each, close: () => hub.close() };
  }
  const { server, contextName, userName } = workloads.access;
  say(`its pods: ${server} (context "${contextName}", user "${userName}")`);
  return {
    hub,
    workloads,
    areApart: true,
    each: [
      { client: hub, parts: { kubernetes: true, workloads: false } },
      { client: workloads, parts: { kubernetes: false, workloads: true } },
    ],
    close() {
      hub.close();
      workloads.close();
    },
  };
}

import { type HubApi, hubApiOf } from '@rollcall/shared/hub';
import type { KubeAccess } from '@rollcall/shared/kubernetes';

/** Where members reach the hub's API server, and for which audience their tokens are. */
export interface MembersApi extends HubApi {
  /** Undefined: the API server's own. */
  readonly audience: string | undefined;
}

/**
 * As configured, else as this service itself reaches it. In a pod that is an address of the hub's own network, of no use to
 * anybody outside, so there it must be said.
 * @returns undefined where nobody has said it
 * @throws RollcallError CONFIG_INVALID
 */
export function membersApiOf(
  config: {
    readonly accessServer?: string | undefined;
    readonly accessCaFile?: string | undefined;
    readonly accessAudience?: string | undefined;
  },
  own: Pick<KubeAccess, 'server' | 'caPem' | 'contextName'>,
): MembersApi | undefined {
  const api = { ...hubApiOf(config, own), audience: config.accessAudience };
  return config.accessServer === undefined && own.contextName === 'in-cluster' ? undefined : api;
}

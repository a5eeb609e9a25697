import { readFileSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';

/** Where others reach the hub's API server. */
export interface HubApi {
  readonly server: string;
  /** Undefined: the roots of whoever asks. */
  readonly caPem: string | undefined;
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('CONFIG_INVALID', `cannot read accessCaFile "${path}"`, { cause });
  }
}

/**
 * As configured, else as the service itself reaches it: in a pod that is an address of the hub's own network.
 * @throws RollcallError CONFIG_INVALID
 */
export function hubApiOf(
  config: { readonly accessServer?: string | undefined; readonly accessCaFile?: string | undefined },
  own: Pick<KubeAccess, 'server' | 'caPem'>,
): HubApi {
  return {
    server: config.accessServer ?? own.server,
    caPem: config.accessCaFile === undefined ? own.caPem : readPem(config.accessCaFile),
  };
}

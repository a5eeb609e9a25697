import { readFileSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';

/** Where members reach the hub's API server, and for which audience their tokens are. */
export interface HubApi {
  readonly server: string;
  readonly caPem: string | undefined;
  /** Undefined: the API server's own. */
  readonly audience: string | undefined;
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('CONFIG_INVALID', `cannot read accessCaFile "${path}"`, { cause });
  }
}

/**
 * As configured, else as this service itself reaches it. In a pod that is an address of the hub's own network, of no use to
 * anybody outside, so there it must be said.
 * @returns undefined where nobody has said it
 * @throws RollcallError CONFIG_INVALID
 */
export function hubApiOf(
  config: {
    readonly accessServer?: string | undefined;
    readonly accessCaFile?: string | undefined;
    readonly accessAudience?: string | undefined;
  },
  own: Pick<KubeAccess, 'server' | 'caPem' | 'contextName'>,
): HubApi | undefined {
  const audience = config.accessAudience;
  const caPem = config.accessCaFile === undefined ? own.caPem : readPem(config.accessCaFile);
  if (config.accessServer !== undefined) return { server: config.accessServer, caPem, audience };
  return own.contextName === 'in-cluster' ? undefined : { server: own.server, caPem, audience };
}

import { readFileSync } from 'node:fs';
import type { BusAddress } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * Where the bus is, from a service's settings.
 * @throws RollcallError CONFIG_INVALID naming the file that cannot be read
 */
export function busAddress(config: {
  readonly busServers: readonly string[];
  readonly busCaFile: string;
}): BusAddress {
  try {
    const caFile = config.busCaFile;
    return { servers: config.busServers, caPem: readFileSync(caFile, 'utf8'), caFile };
  } catch (cause) {
    throw new RollcallError('CONFIG_INVALID', `cannot read the CA file "${config.busCaFile}"`, { cause });
  }
}

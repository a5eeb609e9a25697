import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';

const root = '.rollcall-agent';

/**
 * Where the keys of an agent in the foreground are kept: one directory for each hub and cluster, so that a new hub does not
 * meet the keys of an old one.
 * @param options.hubId - of the token; without a token the cluster must have registered from here before
 * @throws RollcallError USAGE
 */
export function stateDirectoryOf(options: {
  given: string | undefined;
  hubId: string | undefined;
  clusterId: string;
}): string {
  const { given, hubId, clusterId } = options;
  if (given !== undefined) return given;
  if (hubId !== undefined) return join(root, hubId, clusterId);
  const known = (existsSync(root) ? readdirSync(root) : [])
    .map((hub) => join(root, hub, clusterId))
    .filter(existsSync);
  const [only, ...more] = known;
  if (only !== undefined && more.length === 0) return only;
  throw new RollcallError(
    'USAGE',
    only === undefined
      ? 'give --token: this cluster has no keys here yet (an installed agent has its own: `rollcall install agent` goes on with them)'
      : `give --token or --state-dir: this cluster has keys for several hubs (${known.join(', ')})`,
  );
}

import { RollcallError } from '@rollcall/shared/errors';

/** What people are told of most often, each as types of events. */
const readyFilters: Readonly<Record<string, readonly string[]>> = {
  unreachable: ['cluster.unreachable', 'cluster.member-down', 'cluster.flapping', 'hub.outage'],
  back: ['cluster.ready', 'hub.outage-ended'],
  held: ['cluster.held'],
  'key-changed': ['cluster.rotated', 'cluster.key-shared', 'cluster.revoked'],
  out: ['cluster.denied', 'cluster.banned', 'cluster.left'],
  'bulk-held': ['hub.bulk-held'],
};

/** @throws RollcallError USAGE */
export function typesOf(names: readonly string[]): string[] {
  return names
    .flatMap((text) => text.split(','))
    .flatMap((name) => {
      const types = readyFilters[name];
      if (types) return types;
      throw new RollcallError('USAGE', `--only "${name}" is none of ${Object.keys(readyFilters).join(', ')}`);
    });
}

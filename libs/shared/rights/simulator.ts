import { hubDomain, type Role } from './roles.ts';

/**
 * How many clusters one simulator may be given: with more the user's JWT is longer than the 4 KiB line that a server reads from
 * whoever is not yet let in (measured: 28 of these subjects pairs fit).
 */
export const mostSimulatedClusters = 25;

/**
 * The rights of `rollcall simulate` over clusters that it makes up: to beat for them and to write their history, and for no
 * other cluster. It stands in no table, because there is no such user but while the command runs (ADR 28).
 * @param clusterIds - at most `mostSimulatedClusters`; safe ids, checked by who made them
 */
export function simulatorRole(clusterIds: readonly string[]): Role {
  return {
    account: 'SIMULATOR',
    description: 'beats for some made-up clusters and writes their history; made for one run, never stored',
    publish: [
      `$JS.${hubDomain}.API.DIRECT.GET.EVENTS`,
      ...clusterIds.flatMap((id) => [`rollcall.beat.${id}`, `rollcall.events.cluster.${id}.*`]),
    ],
    subscribe: ['_INBOX_simulator.>'],
  };
}

import { hubDomain } from './nats-roles.ts';
import type { Role } from './role.ts';

/**
 * How many clusters one simulator may be given: with more the user's JWT is longer than the 4 KiB line that a server reads from
 * whoever is not yet let in (measured: 28 pairs of these subjects fit).
 */
export const mostSimulatedClusters = 25;

/**
 * The rights of `rollcall simulate` over clusters that it makes up: to write their history, and that of no other cluster. It stands in
 * no table, because there is no such user but while the command runs (ADR 1).
 * @param clusterIds - at most `mostSimulatedClusters`; safe ids, checked by who made them
 */
export function simulatorRole(clusterIds: readonly string[]): Role {
  return {
    account: 'SIMULATOR',
    description: 'writes the history of some made-up clusters; made for one run, never stored',
    publish: [
      `$JS.${hubDomain}.API.DIRECT.GET.EVENTS`,
      ...clusterIds.map((id) => `rollcall.events.cluster.${id}.*`),
    ],
    subscribe: ['_INBOX_simulator.>'],
  };
}

/** The name of who sends heartbeats for them: no cluster can have that id. */
export const simulatedAgents = '_simulator';

/**
 * To send heartbeats for them is another user, in the account of agents, where nothing that it may say is answered. Where something is, the answer
 * to a reply of its choice comes over a route of several servers like a message of its own, and would be a heartbeat of any cluster.
 */
export function simulatedAgentsRole(clusterIds: readonly string[]): Role {
  return {
    account: 'AGENTS',
    description: 'heartbeats for some made-up clusters; made for one run, never stored',
    publish: clusterIds.map((id) => `rollcall.heartbeat.${id}`),
    subscribe: [`_INBOX_${simulatedAgents}.>`],
  };
}

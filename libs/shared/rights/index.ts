export { type AccountLink, accountLinks } from './account-exports.ts';
export {
  accountKey,
  agentsAccountClaims,
  type AgentSigners,
  everyAccount,
  type HubKeys,
  mostRevocations,
  operatorClaims,
  scopedUserClaims,
  userClaims,
} from './nats-account-claims.ts';
export {
  consumedEvents,
  consumersOf,
  type ConsumingService,
  type ServiceConsumer,
} from './event-consumers.ts';
export {
  agentRoles,
  type AgentRole,
  hubDomain,
  otherRoles,
  serviceRoles,
  type ServiceName,
} from './nats-roles.ts';
export { type AccountName, type Role, type RoleAccount, roleAccounts } from './role.ts';
export { mostSimulatedClusters, simulatedAgents, simulatedAgentsRole, simulatorRole } from './simulator.ts';
export { purposeOf } from './subject-purpose.ts';
export { witnessAccount, witnessClaims } from './history-witness.ts';

export { type AccountLink, accountLinks } from './account-links.ts';
export {
  accountKey,
  agentsAccountClaims,
  agentScopes,
  type AgentSigners,
  everyAccount,
  type HubKeys,
  mostRevocations,
  operatorClaims,
  scopedUserClaims,
  userClaims,
} from './claims.ts';
export {
  type AccountName,
  agentRoles,
  type AgentRole,
  consumedEvents,
  consumersOf,
  type ConsumingService,
  type ServiceConsumer,
  hubDomain,
  otherRoles,
  type Role,
  type RoleAccount,
  roleAccounts,
  serviceRoles,
  type ServiceName,
} from './nats-roles.ts';
export { mostSimulatedClusters, simulatedAgents, simulatedAgentsRole, simulatorRole } from './simulator.ts';
export { purposeOf } from './subject-purpose.ts';
export { witnessAccount, witnessClaims } from './history-witness.ts';

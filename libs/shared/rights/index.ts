export {
  agentsAccountClaims,
  agentScopes,
  type AgentSigners,
  authAccountClaims,
  hubAccountClaims,
  type HubKeys,
  operatorClaims,
  scopedUserClaims,
  sysAccountClaims,
  userClaims,
} from './claims.ts';
export {
  agentRoles,
  type AgentRole,
  consumedEvents,
  type ConsumingService,
  otherRoles,
  type Role,
  serviceRoles,
  type ServiceName,
} from './roles.ts';
export { mostSimulatedClusters, simulatorRole } from './simulator.ts';
export { purposeOf } from './subject-purpose.ts';

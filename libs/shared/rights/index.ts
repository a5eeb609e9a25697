export {
  agentsAccountClaims,
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

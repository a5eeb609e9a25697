import type { MetricTable } from './metric-definition.ts';

/** Of the account-controller, the agent-host and the member-gateway. */
export const trustMetrics = {
  rollcall_trust_pushes_total: {
    type: 'counter',
    help: 'Account claims pushed to the servers.',
    services: ['account-controller'],
  },
  rollcall_agent_host_members: {
    type: 'gauge',
    help: 'Members that the hub reaches by their kubeconfigs.',
    services: ['agent-host'],
  },
  rollcall_gateway_streams: {
    type: 'gauge',
    help: 'Requests to members that are open.',
    services: ['member-gateway'],
  },
  rollcall_gateway_stray_frames_total: {
    type: 'counter',
    help: 'Messages of agents for streams that they do not have: late ones, or somebody tries.',
    services: ['member-gateway'],
  },
  rollcall_trust_revocations: {
    type: 'gauge',
    help: 'Keys on the revocation list.',
    services: ['account-controller'],
  },
  rollcall_trust_revocations_room: {
    type: 'gauge',
    help: 'Keys that the revocation list has room for.',
    services: ['account-controller'],
  },
  rollcall_trust_revocations_dropped: {
    type: 'gauge',
    help: 'Keys that the revocation list had no room for: they are in again.',
    services: ['account-controller'],
  },
  rollcall_trust_kicks_total: {
    type: 'counter',
    help: 'Rounds of ending connections that the server let be.',
    services: ['account-controller'],
  },
  rollcall_trust_refused_total: {
    type: 'counter',
    help: 'Times that claims were not signed because more than revocations would change.',
    services: ['account-controller'],
  },
} as const satisfies MetricTable;

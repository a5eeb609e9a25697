/**
 * What the server tells the page, and the page the server: one schema for both. Only types and tables stand in this folder, because the
 * page is built from it as well. All of it is text or numbers; what others wrote (names, reasons, labels) stays text on the page.
 */
export type { ClusterDescription, TimelineEntry } from '@rollcall/shared/fleet/cluster-description';
export { type ClusterRow, type ClusterState, clusterStates } from '@rollcall/shared/fleet/cluster-row';
export {
  actionVerbs,
  type Action,
  type ActionAnswer,
  type ActionVerb,
  type ClusterPage,
  type Refusal,
} from './action-rows.ts';
export type {
  CheckRow,
  DeadMending,
  DeadRow,
  OperationRow,
  OperationsRow,
  StatusRow,
} from './health-rows.ts';
export type {
  CountsRow,
  EventRow,
  EventsPart,
  HubRow,
  LiveMessage,
  PastMessage,
  RequestRow,
  SideRow,
} from './live-rows.ts';
export type {
  FindingRow,
  PolicyRow,
  PolicyTrial,
  PolicyWrite,
  PolicyWritten,
  TrialRow,
} from './policy-rows.ts';
export {
  tokenPlace,
  type TokenFlags,
  type TokenMade,
  type TokenMaking,
  type TokenRevoking,
  type TokenRow,
} from './token-rows.ts';

export {
  type Action,
  type CheckRow,
  type ClusterDescription,
  type ClusterPage,
  type ClusterRow,
  type DeadRow,
  type EventsPart,
  type FindingRow,
  type OperationsRow,
  type PolicyRow,
  type StatusRow,
  tokenPlace,
  type TokenRow,
  type TrialRow,
} from '../rows.ts';
export type { HealthDesk } from './health/health-routes.ts';
export type { PolicyDesk } from './policies/policy-routes.ts';
export type { ReadableBus } from './live/watch-hub.ts';
export type { TokenDesk } from './tokens/token-routes.ts';
export { type ConsoleHub, type RunningConsole, startConsole } from './start-console.ts';
export { eventRow } from './rows/event-row.ts';
export type { LiveSnapshot } from './live/live-snapshot.ts';
export { serveConsole, type ServedConsole, type ServedConsoleOptions } from './served/serve-console.ts';

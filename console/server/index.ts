export {
  type Action,
  type ClusterDescription,
  type ClusterPage,
  type ClusterRow,
  type EventsPart,
  type FindingRow,
  type PolicyRow,
  type TokenFlags,
  tokenPlace,
  type TokenRow,
  type TrialRow,
} from '../rows/index.ts';
export type { HealthDesk } from './health/health-routes.ts';
export type { PolicyDesk } from './policies/policy-routes.ts';
export type { TokenDesk } from './tokens/token-routes.ts';
export { type ConsoleHub, type RunningConsole, startConsole } from './start-console.ts';
export { eventRow } from './rows/event-row.ts';
export type { LiveSnapshot } from './live/live-snapshot.ts';
export { serveConsole } from './served/serve-console.ts';

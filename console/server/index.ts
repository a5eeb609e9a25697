export type { Action, ClusterPage, ClusterRow, FindingRow, PolicyRow, TrialRow } from '../rows.ts';
export type { PolicyDesk } from './policies/policy-routes.ts';
export type { ReadableBus } from './live/watch-hub.ts';
export { type ConsoleHub, type RunningConsole, startConsole } from './start-console.ts';
export type { LiveSnapshot } from './live/live-snapshot.ts';
export { serveConsole, type ServedConsole, type ServedConsoleOptions } from './served/serve-console.ts';

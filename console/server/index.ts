export type { Action, ClusterPage } from '../rows.ts';
export type { ReadableBus } from './live/watch-hub.ts';
export { type ConsoleHub, type RunningConsole, startConsole } from './start-console.ts';

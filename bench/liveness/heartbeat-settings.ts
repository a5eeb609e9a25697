import type { BusAddress, BusCredentials } from '@rollcall/shared/bus';

/** What a heartbeat that is taken by nobody costs, or by a heartbeat service that knows so many clusters. */
export type Taker = 'empty' | number;

/** The argument of the process that takes, as JSON. */
export interface TakerSettings {
  readonly taker: Taker;
  readonly ratePerSecond: number;
  readonly address: BusAddress;
  readonly user: BusCredentials;
}

/**
 * `listen` before heartbeats are sent, then `begin` and `end` what is measured, and `stop` when all were sent; each is answered once it
 * is done.
 */
export type TakerOrder = 'listen' | 'begin' | 'end' | 'stop';

/** What one stretch cost the process that took the heartbeats. */
export interface TakerReport {
  readonly lastedMs: number;
  /** User and system, as the kernel accounts for the process. */
  readonly cpuMs: number;
  readonly heartbeats: number;
  readonly residentBytes: number;
}

/** What the process took from `listen` to `stop`. */
export interface Taken {
  readonly heartbeats: number;
  /** Transitions that it would have written: all clusters send heartbeats, so any is wrong. */
  readonly proposals: number;
}

/** The argument of the process that sends. */
export interface SenderSettings {
  readonly ratePerSecond: number;
  readonly connections: number;
  readonly address: BusAddress;
  readonly user: BusCredentials;
}

/** How many clusters send heartbeats from now on; 0: none. Answered once it is so and the server has all heartbeats of before, with their number. */
export type SenderOrder = number;

/** Odd, so that `index * step` runs through every number below a power of ten once; far apart, as clusters are in memory. */
const step = 611_953;

/** The cluster that sends heartbeats as the n-th of its round: each once a round, in no order. */
export function indexOfTurn(turn: number, clusters: number): number {
  return (turn * step) % clusters;
}

/** Looks like the UID of a namespace, which is what cluster ids are. */
export function benchClusterId(index: number): string {
  const mixed = (Math.imul(index, 0x9e_37_79_b1) >>> 0).toString(16).padStart(8, '0');
  return `${mixed}-5c1e-4b7a-9d20-${index.toString(16).padStart(12, '0')}`;
}

import type { BusAddress } from '@rollcall/shared/bus';

/** Each is what one attacker can do from one process: the highest rate that a client of ours reaches. */
export const floodKinds = [
  'garbage of one agent',
  'garbage of one member',
  'requests with one token',
  // Not beside the other member: more than five that are put out within a minute wait for a person.
  'heartbeats of one member',
  'connections without a token',
] as const;
export type FloodKind = (typeof floodKinds)[number];

/** The argument of this process, as JSON. */
export interface FloodSettings {
  /** `nothing`: it only takes `cores` of the machine from the hub, as an attacker on the same machine does whatever it sends. */
  readonly kind: FloodKind | 'nothing';
  readonly cores?: number;
  readonly address: BusAddress;
  readonly hubId: string;
  readonly token: string;
}

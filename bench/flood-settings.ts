import type { BusAddress } from '@rollcall/shared/bus';

/** Each is what one attacker can do from one process: the highest rate that a client of ours reaches. */
export const floodKinds = [
  'garbage of one agent',
  'asks with one token',
  'connections without a token',
] as const;
export type FloodKind = (typeof floodKinds)[number];

/** The argument of this process, as JSON. */
export interface FloodSettings {
  readonly kind: FloodKind;
  readonly address: BusAddress;
  readonly hubId: string;
  readonly token: string;
}

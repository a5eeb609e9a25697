import type { EventLog } from '@rollcall/shared/bus';
import { type IntervalFinding, type IntervalInForce, keepInterval } from './decide-interval.ts';

/** What is asked of the clusters that this process hears, and what it is told. */
interface HeardFleet {
  readonly snapshot: { known(): number; nominalPerSecond(): number };
  changeInterval(inForce: IntervalInForce): void;
}

export interface FleetInterval {
  inForce(): IntervalInForce;
  /** Says and follows the interval that fits the fleet now. */
  adjust(): Promise<void>;
}

/** Keeps the interval of the whole fleet, of which this process may hear a part only. */
export function createFleetInterval(
  fleet: HeardFleet,
  options: {
    log: EventLog;
    clock: { hubMs(): number };
    /** Absent: this process hears the whole fleet. */
    partition: { readonly count: number } | undefined;
    limits: Pick<IntervalFinding, 'ceilingPerSecond' | 'returnsPerSecond'>;
  },
): FleetInterval {
  const { log, clock, partition, limits } = options;
  const parts = partition?.count ?? 1;
  let inForce: IntervalInForce = { multiplier: 1, returnWithinMs: 0 };
  return {
    inForce: () => inForce,
    async adjust() {
      const { snapshot } = fleet;
      inForce = await keepInterval(log, {
        clusters: snapshot.known() * parts,
        nominalPerSecond: snapshot.nominalPerSecond() * parts,
        ...limits,
        nowMs: clock.hubMs(),
      });
      fleet.changeInterval(inForce);
    },
  };
}

import type { LivenessState } from '@rollcall/shared/events';
import { livenessStates, marks } from './cluster-table.ts';
import type { FleetMemory } from './fleet-memory.ts';
import { isHeard } from './judge-liveness.ts';

const isHeardNumber = livenessStates.map(isHeard);

/** What is known of the fleet now. Reads only. */
export class FleetSnapshot {
  readonly #fleet: FleetMemory;

  constructor(fleet: FleetMemory) {
    this.#fleet = fleet;
  }

  /** @returns undefined for a cluster that is not known */
  stateOf(clusterId: string): LivenessState | undefined {
    const slot = this.#fleet.find(clusterId);
    return slot < 0 ? undefined : this.#fleet.table.stateOf(slot);
  }

  isWriting(clusterId: string): boolean {
    const slot = this.#fleet.find(clusterId);
    return slot >= 0 && this.#fleet.table.has(slot, marks.writing);
  }

  lastHeartbeatMs(clusterId: string): number | undefined {
    const slot = this.#fleet.find(clusterId);
    return slot < 0 ? undefined : this.#fleet.table.lastHeartbeatMs[slot];
  }

  /** The NATS server that its agent was last seen to connect to. */
  serverOf(clusterId: string): string | undefined {
    const slot = this.#fleet.find(clusterId);
    return slot < 0 ? undefined : this.#fleet.outages.serverOf(slot);
  }

  /** How long ago it was heard, by a clock that may be behind; undefined: never. */
  silentForMs(clusterId: string, nowMs: number): number | undefined {
    const lastHeartbeatMs = this.lastHeartbeatMs(clusterId);
    return lastHeartbeatMs === undefined || lastHeartbeatMs === -Infinity
      ? undefined
      : nowMs - lastHeartbeatMs;
  }

  *clusterIds(): Iterable<string> {
    const { table } = this.#fleet;
    for (const slot of table.slots()) yield table.ids.textOf(slot);
  }

  countOf(state: LivenessState): number {
    return this.#fleet.table.countOf(state);
  }

  get inOutage(): boolean {
    return this.#fleet.outages.inOutage;
  }

  /** How many should be heard. */
  known(): number {
    return this.#fleet.outages.known();
  }

  /** What all that should be heard would send in a second if nothing were multiplied. */
  nominalPerSecond(): number {
    const { table } = this.#fleet;
    const { intervalMs, state } = table;
    let sum = 0;
    for (const slot of table.slots()) if (isHeardNumber[state[slot]!]) sum += 1000 / intervalMs[slot]!;
    return sum;
  }
}

import type { LivenessState } from '@rollcall/shared/events';
import type { IntervalInForce } from '../interval/decide-interval.ts';
import type { OutageWatchSettings } from '../outage/outage-watch.ts';
import { ClusterTable, marks } from './cluster-table.ts';
import { ConnectionTable } from './connection-table.ts';
import { OpenConnections } from './open-connections.ts';
import { hashBytes } from './hash-bytes.ts';
import { isHeard } from './judge-liveness.ts';
import { KeyUseWatch } from './duplicate-key-watch.ts';
import { OutageCensus } from './outage-census.ts';
import { SteadyWatch } from './flapping-recovery.ts';
import { TimingWheel } from './timing-wheel.ts';

export const bytesOf = (text: string) => Buffer.from(text, 'latin1');

export function hashOfKey(key: string): number {
  return hashBytes(bytesOf(key), 0, key.length);
}

/** What the engine remembers of the fleet. Its parts read and write it by slot; nothing is decided here. */
export class FleetMemory {
  readonly table = new ClusterTable();
  readonly connections = new ConnectionTable();
  /** Those beside that with the heartbeats too. */
  readonly openConnections = new OpenConnections(this.table);
  readonly keyUse = new KeyUseWatch();
  readonly steady = new SteadyWatch();
  readonly wheel: TimingWheel;
  readonly outages: OutageCensus;
  /** All intervals and graces are so many times what they are set to. */
  multiplier = 1;
  #returnWithinMs = 0;
  #listeningSinceMs: number;

  constructor(nowMs: number, outage: OutageWatchSettings) {
    this.#listeningSinceMs = nowMs;
    this.wheel = new TimingWheel({ startMs: nowMs });
    this.outages = new OutageCensus(this.table, outage);
  }

  /** @returns the slot, or -1 when the cluster is not known */
  find(clusterId: string): number {
    return this.table.ids.find(bytesOf(clusterId), 0, clusterId.length);
  }

  add(clusterId: string): number {
    const slot = this.table.add(bytesOf(clusterId));
    this.wheel.grow(this.table.capacity);
    return slot;
  }

  remove(slot: number, nowMs: number): void {
    this.outages.forget(slot, nowMs);
    this.wheel.cancel(slot);
    this.keyUse.forget(slot);
    this.steady.forget(slot);
    this.table.remove(slot);
  }

  setState(slot: number, { state, sinceMs }: { state: LivenessState; sinceMs: number }): void {
    const { table } = this;
    this.outages.setState(slot, state);
    const isHeardSince = table.lastHeartbeatMs[slot]! > sinceMs;
    table.set(slot, marks.heartbeatSinceChange, !isHeard(state) && isHeardSince);
    if (!isHeardSince) table.set(slot, marks.memberDown, state === 'memberDown');
    if (state === 'flapping') this.steady.begin(slot, sinceMs);
    else this.steady.forget(slot);
  }

  forgetConnections(): void {
    this.connections.clear();
    this.openConnections.clear();
    for (const slot of this.table.slots()) {
      this.table.connections[slot] = 0;
      this.table.newest[slot] = 0;
      this.table.set(slot, marks.connectionLost, false);
    }
  }

  changeInterval({ multiplier, returnWithinMs }: IntervalInForce): void {
    this.multiplier = multiplier;
    this.#returnWithinMs = returnWithinMs;
  }

  listenAfresh(nowMs: number): void {
    this.#listeningSinceMs = Math.max(this.#listeningSinceMs, nowMs);
  }

  /** When everybody who comes back from now on has had its turn. */
  returnedMs(nowMs: number): number {
    return nowMs + this.#returnWithinMs;
  }

  /** Since when the silence of that cluster counts. */
  listeningSinceMs(slot: number): number {
    return Math.max(this.#listeningSinceMs, this.outages.listeningSinceMs(slot));
  }
}

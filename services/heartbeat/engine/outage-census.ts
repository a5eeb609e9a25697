import { type ClusterTable, marks } from './cluster-table.ts';
import type { LivenessState } from '@rollcall/shared/events';
import { isHeard } from './judge-liveness.ts';
import {
  type OutageChange,
  type OutageGroup,
  OutageWatch,
  type OutageWatchSettings,
} from '../outage/outage-watch.ts';

const shouldBeHeard = new Set<LivenessState>(['ready', 'memberDown', 'flapping', 'suspect']);

/** Counts for the outage watch who should be heard and who is silent, in the groups that each cluster of the table belongs to. */
export class OutageCensus {
  readonly #table: ClusterTable;
  readonly #watch: OutageWatch;

  constructor(table: ClusterTable, settings: OutageWatchSettings) {
    this.#table = table;
    this.#watch = new OutageWatch(settings);
  }

  get inOutage(): boolean {
    return this.#watch.holding;
  }

  /** Whether an outage of the fleet or of one of its groups holds what is written of the cluster. */
  holds(slot: number): boolean {
    return this.#watch.holds(this.#table.server[slot]!, this.#table.clusterSet[slot]!);
  }

  /** @param group - absent: of the whole fleet */
  hold(nowMs: number, group?: OutageGroup): void {
    this.#watch.hold(nowMs, group);
  }

  /** The server that the cluster was last seen to connect to. */
  serverOf(slot: number): string | undefined {
    return this.#watch.nameOf(this.#table.server[slot]!);
  }

  /** Those of the group that are not back yet have their turn until then. */
  awaitReturn(group: OutageGroup, untilMs: number): void {
    this.#watch.awaitReturn(group, untilMs);
  }

  /** Since when silence counts in the groups of the cluster. */
  listeningSinceMs(slot: number): number {
    return this.#watch.listeningSinceMs(this.#table.server[slot]!, this.#table.clusterSet[slot]!);
  }

  /** How many should be heard. */
  known(): number {
    return [...shouldBeHeard].reduce((sum, state) => sum + this.#table.countOf(state), 0);
  }

  /** The outages that begin and end now. */
  judge(nowMs: number): OutageChange[] {
    return this.#watch.judge(nowMs, this.known());
  }

  setState(slot: number, state: LivenessState): void {
    this.#count(slot, -1);
    this.#table.setState(slot, state);
    this.#count(slot, 1);
  }

  /** Who moves to another group is counted in that one, also as silent: that follows with the next look. */
  move(slot: number, column: 'server' | 'clusterSet', nowMs: number, group: OutageGroup | undefined): void {
    const number = this.#watch.numberOf(group);
    if (this.#table[column][slot] === number) return;
    this.forget(slot, nowMs);
    this.#table[column][slot] = number;
    this.#count(slot, 1);
  }

  /** Before the cluster leaves the table. */
  forget(slot: number, nowMs: number): void {
    this.setSilent(slot, false, nowMs);
    this.#count(slot, -1);
  }

  /** Only who was ready can fall silent; who was silent before we came is no part of an outage. */
  setSilent(slot: number, silent: boolean, nowMs: number): void {
    const table = this.#table;
    const counted = table.has(slot, marks.silent);
    if (silent === counted || (silent && !isHeard(table.stateOf(slot)))) return;
    table.set(slot, marks.silent, silent);
    const [server, clusterSet] = [table.server[slot]!, table.clusterSet[slot]!];
    if (silent) {
      table.silentSinceMs[slot] = nowMs;
      this.#watch.fellSilent(nowMs, server, clusterSet);
    } else {
      this.#watch.heardAgain({ sinceMs: table.silentSinceMs[slot]!, nowMs }, server, clusterSet);
    }
  }

  #count(slot: number, by: 1 | -1): void {
    const table = this.#table;
    if (!shouldBeHeard.has(table.stateOf(slot))) return;
    this.#watch.countKnown(table.server[slot]!, by);
    this.#watch.countKnown(table.clusterSet[slot]!, by);
  }
}

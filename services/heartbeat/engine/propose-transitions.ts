import type { LivenessState } from '@rollcall/shared/events';
import type { OutageChange } from '../outage/outage-watch.ts';
import { marks, readyState } from './cluster-table.ts';
import type { FleetMemory } from './fleet-memory.ts';
import { healthyUntilMs, judgeLiveness, type LivenessVerdict } from './judge-liveness.ts';
import type { Becomes, ProposedTransition } from './liveness-signals.ts';

type Take = (proposal: ProposedTransition) => void;

/**
 * Judges clusters, and yields what should be written of them. A proposal is answered by `settle`, `confirm` or `retry`; until then
 * no other one comes for the cluster.
 */
export class TransitionProposals {
  readonly #fleet: FleetMemory;
  readonly #suspectAfterMs: number;
  readonly #steadyForMs: number;
  readonly #outageChanged: (change: OutageChange) => void;
  /** How many there were. */
  #count = 0;
  readonly #untaken: ProposedTransition[] = [];
  #take: Take = (proposal) => void this.#untaken.push(proposal);

  constructor(
    fleet: FleetMemory,
    options: {
      suspectAfterMs: number;
      steadyForMs: number;
      outageChanged(change: OutageChange): void;
    },
  ) {
    this.#fleet = fleet;
    this.#suspectAfterMs = options.suspectAfterMs;
    this.#steadyForMs = options.steadyForMs;
    this.#outageChanged = (change) => options.outageChanged(change);
  }

  /** Gives each proposal to `take` as soon as it is made, those that wait already at once. */
  takenBy(take: Take): void {
    this.#take = take;
    for (const proposal of this.#untaken.splice(0)) take(proposal);
  }

  /** Lets time pass: deadlines, and the beginning and end of outages. */
  advance(nowMs: number): void {
    const { outages, wheel } = this.#fleet;
    for (const change of outages.judge(nowMs)) this.#follow(change, nowMs);
    wheel.advance(nowMs, (slot) => this.#expired(slot, nowMs));
  }

  #follow(change: OutageChange, nowMs: number): void {
    const fleet = this.#fleet;
    // Most are back and the others wait for their turn to connect again: to them it was as if nobody had listened.
    // Of a group only its own clusters: else the silence of all others would not count for as long, again and again.
    if (change.change === 'ends' && !change.isDeadline) {
      const untilMs = fleet.returnedMs(nowMs);
      if (change.group) fleet.outages.awaitReturn(change.group, untilMs);
      else fleet.listenAfresh(untilMs);
    }
    this.#outageChanged(change);
    if (change.change === 'ends') for (const slot of fleet.table.slots()) this.look(slot, nowMs);
  }

  /** The deadline of a healthy cluster has moved with each of its heartbeats; for a million of them this is asked all the time. */
  #expired(slot: number, nowMs: number): void {
    const fleet = this.#fleet;
    const { state, mark, lastHeartbeatMs, intervalMs, graceMs } = fleet.table;
    if (mark[slot] === 0 && state[slot] === readyState) {
      const quietSinceMs = Math.max(lastHeartbeatMs[slot]!, fleet.listeningSinceMs(slot));
      const { multiplier } = fleet;
      const untilMs = healthyUntilMs(
        quietSinceMs,
        intervalMs[slot]! * multiplier,
        graceMs[slot]! * multiplier,
      );
      if (nowMs < untilMs) return fleet.wheel.schedule(slot, untilMs);
    }
    this.look(slot, nowMs);
  }

  /** Judges a cluster of which something has changed, and proposes what follows or sets the time of the next look. */
  look(slot: number, nowMs: number): void {
    const { table, wheel, outages, steady } = this.#fleet;
    let verdict = this.#judge(slot, nowMs);
    outages.setSilent(slot, verdict.silent, nowMs);
    if (steady.heard(slot, !verdict.silent, nowMs)) verdict = this.#judge(slot, nowMs);
    // A transition on its way is settled first; then it is looked at again.
    if (table.has(slot, marks.writing)) return;
    if (verdict.kind === 'stays') {
      if (verdict.untilMs < Infinity) wheel.schedule(slot, verdict.untilMs);
      else wheel.cancel(slot);
      return;
    }
    wheel.cancel(slot);
    table.set(slot, marks.writing, true);
    this.#count = (this.#count + 1) >>> 0;
    table.proposal[slot] = this.#count;
    this.#take(this.#proposalOf(slot, verdict, nowMs));
  }

  /** The proposal as it stands now, or undefined (and settled) when it no longer holds. */
  confirm(proposal: ProposedTransition, nowMs: number): ProposedTransition | undefined {
    const slot = this.#slotOf(proposal);
    if (slot < 0) return undefined;
    const verdict = this.#judge(slot, nowMs);
    if (verdict.kind === 'becomes') return this.#proposalOf(slot, verdict, nowMs);
    this.#fleet.table.set(slot, marks.writing, false);
    this.look(slot, nowMs);
    return undefined;
  }

  /**
   * The answer to a proposal: what the cluster's record says now, whether by this proposal or because another replica was faster.
   * @param outcome - undefined: it is no member any more
   */
  settle(
    proposal: ProposedTransition,
    outcome: { state: LivenessState; sinceMs: number } | undefined,
    nowMs: number,
  ): void {
    const slot = this.#slotOf(proposal);
    if (slot < 0) return;
    if (!outcome) return this.#fleet.remove(slot, nowMs);
    this.#fleet.table.set(slot, marks.writing, false);
    this.#fleet.setState(slot, outcome);
    this.look(slot, nowMs);
  }

  /** The proposal could not be written; it is judged again at `atMs`. */
  retry(proposal: ProposedTransition, atMs: number): void {
    const slot = this.#slotOf(proposal);
    if (slot < 0) return;
    this.#fleet.table.set(slot, marks.writing, false);
    this.#fleet.wheel.schedule(slot, atMs);
  }

  /**
   * Where the proposal is still under way, else -1. A cluster that left and came back has another proposal, or none: what was written of its
   * registration before says nothing of this one.
   */
  #slotOf({ clusterId, number }: ProposedTransition): number {
    const { table } = this.#fleet;
    const slot = this.#fleet.find(clusterId);
    const isUnderWay = slot >= 0 && table.has(slot, marks.writing) && table.proposal[slot] === number;
    return isUnderWay ? slot : -1;
  }

  #judge(slot: number, nowMs: number): LivenessVerdict {
    const fleet = this.#fleet;
    const { table } = fleet;
    return judgeLiveness(
      {
        state: table.stateOf(slot),
        heartbeatSinceChange: table.has(slot, marks.heartbeatSinceChange),
        saidGoodbye: table.has(slot, marks.saidGoodbye),
        memberDown: table.has(slot, marks.memberDown),
        steadySinceMs: fleet.steady.sinceMs(slot),
        steadyForMs: this.#steadyForMs,
        outageHeld: fleet.outages.holds(slot),
        lastHeartbeatMs: table.lastHeartbeatMs[slot]!,
        connectionLostMs: table.has(slot, marks.connectionLost) ? table.connectionLostMs[slot]! : undefined,
        listeningSinceMs: fleet.listeningSinceMs(slot),
        intervalMs: table.intervalMs[slot]! * fleet.multiplier,
        graceMs: table.graceMs[slot]! * fleet.multiplier,
        suspectAfterMs: this.#suspectAfterMs,
      },
      nowMs,
    );
  }

  #proposalOf(slot: number, { state, cause }: Becomes, nowMs: number): ProposedTransition {
    const { table } = this.#fleet;
    const number = table.proposal[slot]!;
    const lastHeartbeatMs = table.lastHeartbeatMs[slot]!;
    const from = table.stateOf(slot);
    return {
      clusterId: table.ids.textOf(slot),
      number,
      from,
      state,
      cause,
      decidedAtMs: nowMs,
      lastHeartbeatMs,
    };
  }
}

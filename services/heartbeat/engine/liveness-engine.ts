import { heartbeatFlags } from '@rollcall/shared/bus';
import type { LivenessState } from '@rollcall/shared/events';
import type { IntervalInForce } from '../interval/interval-multiplier.ts';
import { ClusterTable, livenessStates, marks, readyState } from './cluster-table.ts';
import { ConnectionTable, tagOf } from './connection-table.ts';
import { hashBytes } from './hash-bytes.ts';
import { KeyUseWatch } from './key-use.ts';
import { healthyUntilMs, isHeard, judgeLiveness, type LivenessVerdict } from './judge-liveness.ts';
import type {
  Becomes,
  EngineOutput,
  KnownCluster,
  MemberConnection,
  ProposedTransition,
} from './liveness-signals.ts';
import { SteadyWatch } from './steady-watch.ts';
import { OutageCensus } from './outage-census.ts';
import type { OutageChange, OutageGroup, OutageWatchSettings } from '../outage/outage-watch.ts';
import { TimingWheel } from './timing-wheel.ts';

/** What the columns can hold: 49 days. */
const longestMs = 2 ** 32 - 1;

const isHeardNumber = livenessStates.map(isHeard);

const bytesOf = (text: string) => Buffer.from(text, 'latin1');

function hashOfKey(key: string): number {
  return hashBytes(bytesOf(key), 0, key.length);
}

/**
 * Liveness of all clusters in memory: signals in, proposals out, no I/O and no clock of its own. All times are ms of one
 * monotonic clock. `hear` takes raw heartbeats and is all that a healthy cluster costs: it writes two numbers, and the deadline
 * in the wheel finds out later that it has moved.
 */
export class LivenessEngine {
  readonly #table = new ClusterTable();
  readonly #connections = new ConnectionTable();
  readonly #keyUse = new KeyUseWatch();
  readonly #steady = new SteadyWatch();
  readonly #wheel: TimingWheel;
  readonly #outages: OutageCensus;
  readonly #suspectAfterMs: number;
  readonly #steadyForMs: number;
  readonly #output: EngineOutput;
  #listeningSinceMs: number;
  #multiplier = 1;
  #returnWithinMs = 0;
  /** How many there were. */
  #proposals = 0;

  constructor(options: {
    nowMs: number;
    suspectAfterMs: number;
    /** For how long a flapping cluster must be heard without a gap. */
    steadyForMs: number;
    outage: OutageWatchSettings;
    output: EngineOutput;
  }) {
    this.#listeningSinceMs = options.nowMs;
    this.#wheel = new TimingWheel({ startMs: options.nowMs });
    this.#outages = new OutageCensus(this.#table, options.outage);
    this.#suspectAfterMs = options.suspectAfterMs;
    this.#steadyForMs = options.steadyForMs;
    this.#output = options.output;
  }

  /**
   * A heartbeat. Hub receive time decides; what the agent's clock says is not asked.
   * @param bytes - the id stands in `bytes[start, end)`
   * @returns false when the cluster is not known here
   */
  hear(bytes: Uint8Array, start: number, end: number, flags: number, nowMs: number): boolean {
    const table = this.#table;
    const slot = table.ids.find(bytes, start, end);
    if (slot < 0) return false;
    table.lastHeartbeatMs[slot] = nowMs;
    table.heartbeats[slot]!++;
    if (flags !== 0 || table.mark[slot] !== 0 || table.state[slot] !== readyState)
      this.#heardNews(slot, flags, nowMs);
    return true;
  }

  /**
   * Something else that a cluster sent where its heartbeats go: it says nothing, and counts towards a flood.
   * @returns false when the id is unknown
   */
  count(bytes: Uint8Array, range: { start: number; end: number }, times: number): boolean {
    const slot = this.#table.ids.find(bytes, range.start, range.end);
    if (slot < 0) return false;
    this.#table.heartbeats[slot]! += times;
    return true;
  }

  #heardNews(slot: number, flags: number, nowMs: number): void {
    const table = this.#table;
    const goodbye = (flags & heartbeatFlags.goodbye) !== 0;
    if (table.has(slot, marks.keyWatched)) {
      this.#countHeartbeat(slot, nowMs);
      // Of two agents one may stop: the cluster has not.
      if (goodbye && this.#keyUse.hasTwo(slot)) return;
    }
    table.set(slot, marks.saidGoodbye, goodbye);
    table.set(slot, marks.memberDown, (flags & heartbeatFlags.memberApiDown) !== 0);
    table.set(slot, marks.heartbeatSinceChange, !isHeard(table.stateOf(slot)));
    if (!goodbye) this.#connectionIsBack(slot);
    this.#look(slot, nowMs);
  }

  #countHeartbeat(slot: number, nowMs: number): void {
    const table = this.#table;
    const isDoubled = table.connections[slot]! > 1;
    const change = this.#keyUse.heard(slot, {
      intervalMs: table.intervalMs[slot]! * this.#multiplier,
      isDoubled,
      nowMs,
    });
    if (change === 'over' || change === 'alone') table.set(slot, marks.keyWatched, false);
    if (change === 'alone') table.connections[slot] = 1;
    else if (change && change !== 'over') this.#output.keyUse(table.ids.textOf(slot), change);
  }

  #watchKey(slot: number, nowMs: number, isShared?: boolean): void {
    this.#table.set(slot, marks.keyWatched, true);
    this.#keyUse.watch(slot, nowMs, isShared);
  }

  /** Adds a member, or takes over what has changed of it; its state is the record's unless a transition is being written. */
  put(cluster: KnownCluster, nowMs: number): void {
    const table = this.#table;
    let slot = this.#find(cluster.clusterId);
    if (slot < 0) {
      slot = table.add(bytesOf(cluster.clusterId));
      this.#wheel.grow(table.capacity);
    }
    const keyHash = hashOfKey(cluster.key);
    if (table.keyHash[slot] !== keyHash) {
      table.keyHash[slot] = keyHash;
      table.connections[slot] = 0;
      table.newest[slot] = 0;
      table.set(slot, marks.connectionLost, false);
      table.set(slot, marks.keyWatched, false);
      this.#keyUse.forget(slot);
      // It left and came back: a proposal from before is answered by a record of its former registration. Rotated, it goes on as it was.
      if (cluster.state === 'neverSeen') table.set(slot, marks.writing, false);
    }
    if (cluster.keyShared || table.has(slot, marks.keyWatched))
      this.#watchKey(slot, nowMs, cluster.keyShared ?? false);
    const { clusterSet } = cluster;
    this.#outages.move(
      slot,
      'clusterSet',
      nowMs,
      clusterSet === undefined ? undefined : { kind: 'set', name: clusterSet },
    );
    // Its agent hears of a shorter interval a moment later, and has a whole one to keep to it.
    const isShorter = cluster.intervalMs < table.intervalMs[slot]!;
    const staysHeard = isHeard(cluster.state) && table.stateOf(slot) === cluster.state;
    if (isShorter && staysHeard && !table.has(slot, marks.silent)) table.lastHeartbeatMs[slot] = nowMs;
    table.intervalMs[slot] = Math.min(cluster.intervalMs, longestMs);
    table.graceMs[slot] = Math.min(cluster.graceMs, longestMs);
    // By the clock of another replica, which may be ahead: nobody has been heard later than now.
    const heardMs = Math.min(cluster.lastHeartbeatMs, nowMs);
    table.lastHeartbeatMs[slot] = Math.max(table.lastHeartbeatMs[slot] || -Infinity, heardMs);
    if (!table.has(slot, marks.writing) && table.stateOf(slot) !== cluster.state) {
      // Another replica heard a heartbeat after the goodbye that we know of. Said again, it would be answered with `ready` again, without end.
      if (table.stateOf(slot) === 'stopped') table.set(slot, marks.saidGoodbye, false);
      // What another replica writes carries its clock: a heartbeat that we heard before might look as if it came after. The next one counts.
      const sinceMs = cluster.state === 'neverSeen' ? cluster.sinceMs : Infinity;
      this.#setState(slot, { state: cluster.state, sinceMs });
    }
    this.#look(slot, nowMs);
  }

  remove(clusterId: string, nowMs: number): void {
    const slot = this.#find(clusterId);
    if (slot < 0) return;
    this.#outages.forget(slot, nowMs);
    this.#wheel.cancel(slot);
    this.#keyUse.forget(slot);
    this.#steady.forget(slot);
    this.#table.remove(slot);
  }

  connected(connection: MemberConnection, nowMs: number): void {
    const slot = this.#slotOfMember(connection);
    if (slot < 0 || !this.#connections.add(connection.serverId, connection.clientId, slot)) return;
    this.#outages.move(slot, 'server', nowMs, { kind: 'server', name: connection.serverId });
    this.#table.connections[slot]!++;
    this.#table.newest[slot] = tagOf(connection.serverId, connection.clientId);
    if (this.#table.connections[slot]! > 1) this.#watchKey(slot, nowMs);
    this.#connectionIsBack(slot);
  }

  disconnected(connection: MemberConnection, nowMs: number): void {
    const table = this.#table;
    const owner = this.#connections.remove(connection.serverId, connection.clientId);
    const slot = this.#slotOfMember(connection);
    if (slot < 0) return;
    if (owner === slot && table.connections[slot]! > 0) {
      const isNewest = table.newest[slot] === tagOf(connection.serverId, connection.clientId);
      // One that was given up already, of a network that is dead for example: the agent is on a newer one.
      if (table.connections[slot] === 1 && table.newest[slot] !== 0 && !isNewest) return;
      if (isNewest) table.newest[slot] = 0;
      table.connections[slot]!--;
    }
    // One that began before we listened may end unnoticed while another is open: that is how agents renew.
    if (table.connections[slot]! > 0) return;
    table.set(slot, marks.connectionLost, true);
    table.connectionLostMs[slot] = nowMs;
    if (isHeard(table.stateOf(slot)) && !table.has(slot, marks.saidGoodbye)) {
      this.#output.live(connection.clusterId, 'connection-lost', 'ConnectionLost');
    }
    this.#look(slot, nowMs);
  }

  /** Lets time pass: deadlines, and the beginning and end of outages. */
  advance(nowMs: number): void {
    for (const change of this.#outages.judge(nowMs)) this.#outageChanged(change, nowMs);
    this.#wheel.advance(nowMs, (slot) => this.#expired(slot, nowMs));
  }

  #outageChanged(change: OutageChange, nowMs: number): void {
    // Most are back and the others wait for their turn to connect again: to them it was as if nobody had listened.
    // Of a group only its own clusters: else the silence of all others would not count for as long, again and again.
    if (change.change === 'ends' && !change.isDeadline) {
      if (change.group) this.#outages.awaitReturn(change.group, nowMs + this.#returnWithinMs);
      else this.awaitReturn(nowMs);
    }
    this.#output.outage(change);
    if (change.change === 'ends') for (const slot of this.#table.slots()) this.#look(slot, nowMs);
  }

  /** The deadline of a healthy cluster has moved with each of its heartbeats; for a million of them this is asked all the time. */
  #expired(slot: number, nowMs: number): void {
    const { state, mark, lastHeartbeatMs, intervalMs, graceMs } = this.#table;
    if (mark[slot] === 0 && state[slot] === readyState) {
      const quietSinceMs = Math.max(lastHeartbeatMs[slot]!, this.#listeningTo(slot));
      const multiplier = this.#multiplier;
      const untilMs = healthyUntilMs(
        quietSinceMs,
        intervalMs[slot]! * multiplier,
        graceMs[slot]! * multiplier,
      );
      if (nowMs < untilMs) return this.#wheel.schedule(slot, untilMs);
    }
    this.#look(slot, nowMs);
  }

  /** What the fleet has been told of how often it sends heartbeats, and how slowly it comes back. */
  changeInterval({ multiplier, returnWithinMs }: IntervalInForce): void {
    this.#multiplier = multiplier;
    this.#returnWithinMs = returnWithinMs;
  }

  /** What all that should be heard would send in a second if nothing were multiplied. */
  nominalPerSecond(): number {
    const { intervalMs, state } = this.#table;
    let sum = 0;
    for (const slot of this.#table.slots()) if (isHeardNumber[state[slot]!]) sum += 1000 / intervalMs[slot]!;
    return sum;
  }

  /** We could not hear until now (a start, a pause, a lost connection): every cluster has its whole grace from here on. */
  listenAfresh(nowMs: number): void {
    this.#listeningSinceMs = Math.max(this.#listeningSinceMs, nowMs);
  }

  /**
   * The hub was away, or a part of the network: agents come back one after the other, over the time that the hub has told them. Silence
   * counts once each has had its turn.
   */
  awaitReturn(nowMs: number): void {
    this.listenAfresh(nowMs + this.#returnWithinMs);
  }

  /** After our own connection was lost nobody knows which connections of members are open. */
  forgetConnections(): void {
    this.#connections.clear();
    for (const slot of this.#table.slots()) {
      this.#table.connections[slot] = 0;
      this.#table.newest[slot] = 0;
      this.#table.set(slot, marks.connectionLost, false);
    }
  }

  /** @param group - absent: of the whole fleet */
  holdForOutage(nowMs: number, group?: OutageGroup): void {
    this.#outages.hold(nowMs, group);
  }

  /** Another replica heard the cluster later than we did: the youngest heartbeat wins. */
  heardElsewhere(clusterId: string, lastHeartbeatMs: number): void {
    const table = this.#table;
    const slot = this.#find(clusterId);
    if (slot < 0 || lastHeartbeatMs <= table.lastHeartbeatMs[slot]!) return;
    table.lastHeartbeatMs[slot] = lastHeartbeatMs;
    // What it said we do not know; what has been written of it is younger than what we heard.
    table.set(slot, marks.memberDown, table.stateOf(slot) === 'memberDown');
  }

  /** The proposal as it stands now, or undefined (and settled) when it no longer holds. */
  confirm(proposal: ProposedTransition, nowMs: number): ProposedTransition | undefined {
    const slot = this.#slotOf(proposal);
    if (slot < 0) return undefined;
    const verdict = this.#judge(slot, nowMs);
    if (verdict.kind === 'becomes') return this.#operationOf(slot, verdict, nowMs);
    this.#table.set(slot, marks.writing, false);
    this.#look(slot, nowMs);
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
    if (!outcome) return this.remove(proposal.clusterId, nowMs);
    this.#table.set(slot, marks.writing, false);
    this.#setState(slot, outcome);
    this.#look(slot, nowMs);
  }

  /** It was told, and another replica has heard a heartbeat since. */
  forgetGoodbye(clusterId: string): void {
    const slot = this.#find(clusterId);
    if (slot >= 0) this.#table.set(slot, marks.saidGoodbye, false);
  }

  /** The proposal could not be written; it is judged again at `atMs`. */
  retry(proposal: ProposedTransition, atMs: number): void {
    const slot = this.#slotOf(proposal);
    if (slot < 0) return;
    this.#table.set(slot, marks.writing, false);
    this.#wheel.schedule(slot, atMs);
  }

  /**
   * Who has sent a heartbeat more often than that since the last call; the count of everybody starts again.
   * @param most - heartbeats; far above what an agent sends
   */
  takeFloods(most: number): { clusterId: string; heartbeats: number }[] {
    const { heartbeats, ids } = this.#table;
    const floods: { clusterId: string; heartbeats: number }[] = [];
    for (let slot = 0; slot < heartbeats.length; slot++) {
      const count = heartbeats[slot]!;
      if (count > most && ids.isUsed(slot)) floods.push({ clusterId: ids.textOf(slot), heartbeats: count });
    }
    heartbeats.fill(0);
    return floods;
  }

  stateOf(clusterId: string): LivenessState | undefined {
    const slot = this.#find(clusterId);
    return slot < 0 ? undefined : this.#table.stateOf(slot);
  }

  isWriting(clusterId: string): boolean {
    const slot = this.#find(clusterId);
    return slot >= 0 && this.#table.has(slot, marks.writing);
  }

  lastHeartbeatMs(clusterId: string): number | undefined {
    const slot = this.#find(clusterId);
    return slot < 0 ? undefined : this.#table.lastHeartbeatMs[slot];
  }

  *clusterIds(): Iterable<string> {
    for (const slot of this.#table.slots()) yield this.#table.ids.textOf(slot);
  }

  countOf(state: LivenessState): number {
    return this.#table.countOf(state);
  }

  get inOutage(): boolean {
    return this.#outages.inOutage;
  }

  /** How many should be heard. */
  known(): number {
    return this.#outages.known();
  }

  #find(clusterId: string): number {
    return this.#table.ids.find(bytesOf(clusterId), 0, clusterId.length);
  }

  /**
   * Where the proposal is still under way, else -1. A cluster that left and came back has another proposal, or none: what was written of its
   * registration before says nothing of this one.
   */
  #slotOf({ clusterId, number }: ProposedTransition): number {
    const slot = this.#find(clusterId);
    const isUnderWay =
      slot >= 0 && this.#table.has(slot, marks.writing) && this.#table.proposal[slot] === number;
    return isUnderWay ? slot : -1;
  }

  #slotOfMember(connection: MemberConnection): number {
    const slot = this.#find(connection.clusterId);
    return slot >= 0 && this.#table.keyHash[slot] === hashOfKey(connection.key) ? slot : -1;
  }

  #setState(slot: number, { state, sinceMs }: { state: LivenessState; sinceMs: number }): void {
    const table = this.#table;
    this.#outages.setState(slot, state);
    const isHeardSince = table.lastHeartbeatMs[slot]! > sinceMs;
    table.set(slot, marks.heartbeatSinceChange, !isHeard(state) && isHeardSince);
    if (!isHeardSince) table.set(slot, marks.memberDown, state === 'memberDown');
    if (state === 'flapping') this.#steady.begin(slot, sinceMs);
    else this.#steady.forget(slot);
  }

  #connectionIsBack(slot: number): void {
    const table = this.#table;
    if (!table.has(slot, marks.connectionLost)) return;
    table.set(slot, marks.connectionLost, false);
    if (isHeard(table.stateOf(slot))) this.#output.live(table.ids.textOf(slot), 'ready', 'ConnectionBack');
  }

  #listeningTo(slot: number): number {
    return Math.max(this.#listeningSinceMs, this.#outages.listeningSinceMs(slot));
  }

  #judge(slot: number, nowMs: number): LivenessVerdict {
    const table = this.#table;
    return judgeLiveness(
      {
        state: table.stateOf(slot),
        heartbeatSinceChange: table.has(slot, marks.heartbeatSinceChange),
        saidGoodbye: table.has(slot, marks.saidGoodbye),
        memberDown: table.has(slot, marks.memberDown),
        steadySinceMs: this.#steady.sinceMs(slot),
        steadyForMs: this.#steadyForMs,
        outageHeld: this.#outages.holds(slot),
        lastHeartbeatMs: table.lastHeartbeatMs[slot]!,
        connectionLostMs: table.has(slot, marks.connectionLost) ? table.connectionLostMs[slot]! : undefined,
        listeningSinceMs: this.#listeningTo(slot),
        intervalMs: table.intervalMs[slot]! * this.#multiplier,
        graceMs: table.graceMs[slot]! * this.#multiplier,
        suspectAfterMs: this.#suspectAfterMs,
      },
      nowMs,
    );
  }

  #look(slot: number, nowMs: number): void {
    let verdict = this.#judge(slot, nowMs);
    this.#outages.setSilent(slot, verdict.silent, nowMs);
    if (this.#steady.heard(slot, !verdict.silent, nowMs)) verdict = this.#judge(slot, nowMs);
    // A transition on its way is settled first; then it is looked at again.
    if (this.#table.has(slot, marks.writing)) return;
    if (verdict.kind === 'stays') {
      if (verdict.untilMs < Infinity) this.#wheel.schedule(slot, verdict.untilMs);
      else this.#wheel.cancel(slot);
      return;
    }
    this.#wheel.cancel(slot);
    this.#table.set(slot, marks.writing, true);
    this.#proposals = (this.#proposals + 1) >>> 0;
    this.#table.proposal[slot] = this.#proposals;
    this.#output.proposal(this.#operationOf(slot, verdict, nowMs));
  }

  #operationOf(slot: number, verdict: Becomes, nowMs: number): ProposedTransition {
    const { state, cause } = verdict;
    const table = this.#table;
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

import { heartbeatFlags } from '@rollcall/shared/bus';
import type { IntervalInForce } from '../interval/decide-interval.ts';
import type { OutageGroup, OutageWatchSettings } from '../outage/outage-watch.ts';
import { type ClusterTable, marks, readyState } from './cluster-table.ts';
import { tagOf } from './connection-table.ts';
import { FleetMemory, hashOfKey } from './fleet-memory.ts';
import { FleetSnapshot } from './fleet-snapshot.ts';
import { isHeard } from './judge-liveness.ts';
import type { EngineOutput, HeardFlood, KnownCluster, MemberConnection } from './liveness-signals.ts';
import { TransitionProposals } from './propose-transitions.ts';

/** What the columns can hold: 49 days. */
const longestMs = 2 ** 32 - 1;
/** An agent has two, and those of a dead network for a minute: the server closes them. */
const mostConnections = 64;

/**
 * Liveness of all clusters in memory: signals in, proposals out, no I/O and no clock of its own. All times are ms of one
 * monotonic clock. `hear` takes raw heartbeats and is all that a healthy cluster costs: it writes two numbers, and the deadline
 * in the wheel finds out later that it has moved.
 */
export class LivenessEngine {
  /** What follows from the signals. */
  readonly proposals: TransitionProposals;
  readonly snapshot: FleetSnapshot;
  readonly #fleet: FleetMemory;
  readonly #table: ClusterTable;
  readonly #output: EngineOutput;

  constructor(options: {
    nowMs: number;
    suspectAfterMs: number;
    /** For how long a flapping cluster must be heard without a gap. */
    steadyForMs: number;
    outage: OutageWatchSettings;
    output: EngineOutput;
  }) {
    const { nowMs, suspectAfterMs, steadyForMs, outage, output } = options;
    this.#fleet = new FleetMemory(nowMs, outage);
    this.#table = this.#fleet.table;
    this.#output = output;
    this.proposals = new TransitionProposals(this.#fleet, {
      suspectAfterMs,
      steadyForMs,
      outageChanged: (change) => output.outage(change),
    });
    this.snapshot = new FleetSnapshot(this.#fleet);
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
      if (goodbye && this.#fleet.keyUse.hasTwo(slot)) return;
    }
    table.set(slot, marks.saidGoodbye, goodbye);
    table.set(slot, marks.memberDown, (flags & heartbeatFlags.memberApiDown) !== 0);
    table.set(slot, marks.heartbeatSinceChange, !isHeard(table.stateOf(slot)));
    if (!goodbye) this.#connectionIsBack(slot);
    this.proposals.look(slot, nowMs);
  }

  #countHeartbeat(slot: number, nowMs: number): void {
    const table = this.#table;
    const isDoubled = table.connections[slot]! > 1;
    const change = this.#fleet.keyUse.heard(slot, {
      intervalMs: table.intervalMs[slot]! * this.#fleet.multiplier,
      isDoubled,
      nowMs,
    });
    if (change === 'over' || change === 'alone') table.set(slot, marks.keyWatched, false);
    if (change === 'alone') table.connections[slot] = 1;
    else if (change && change !== 'over') this.#output.keyUse(table.ids.textOf(slot), change);
  }

  #watchKey(slot: number, nowMs: number, isShared?: boolean): void {
    this.#table.set(slot, marks.keyWatched, true);
    this.#fleet.keyUse.watch(slot, nowMs, isShared);
  }

  /** Adds a member, or takes over what has changed of it; its state is the record's unless a transition is being written. */
  put(cluster: KnownCluster, nowMs: number): void {
    const table = this.#table;
    const knownSlot = this.#fleet.find(cluster.clusterId);
    const slot = knownSlot < 0 ? this.#fleet.add(cluster.clusterId) : knownSlot;
    const keyHash = hashOfKey(cluster.key);
    if (table.keyHash[slot] !== keyHash) {
      table.keyHash[slot] = keyHash;
      table.connections[slot] = 0;
      table.newest[slot] = 0;
      table.set(slot, marks.connectionLost, false);
      table.set(slot, marks.keyWatched, false);
      this.#fleet.keyUse.forget(slot);
      // It left and came back: a proposal from before is answered by a record of its former registration. Rotated, it goes on as it was.
      if (cluster.state === 'neverSeen') table.set(slot, marks.writing, false);
    }
    if (cluster.keyShared || table.has(slot, marks.keyWatched))
      this.#watchKey(slot, nowMs, cluster.keyShared ?? false);
    const { clusterSet } = cluster;
    this.#fleet.outages.move(
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
      this.#fleet.setState(slot, { state: cluster.state, sinceMs });
    }
    this.proposals.look(slot, nowMs);
  }

  remove(clusterId: string, nowMs: number): void {
    const slot = this.#fleet.find(clusterId);
    if (slot >= 0) this.#fleet.remove(slot, nowMs);
  }

  connected(connection: MemberConnection, nowMs: number): void {
    this.#forgetFormer(connection);
    const slot = this.#slotOfMember(connection);
    if (slot < 0 || !this.#fleet.connections.add(connection.serverId, connection.clientId, slot)) return;
    this.#fleet.outages.move(slot, 'server', nowMs, { kind: 'server', name: connection.serverName });
    this.#table.connections[slot]!++;
    this.#table.newest[slot] = tagOf(connection.serverId, connection.clientId);
    if (this.#table.connections[slot]! > 1) this.#watchKey(slot, nowMs);
    this.#connectionIsBack(slot);
  }

  /** Any connection with credentials of a cluster, whatever it is called: of too many is told as of a flood. */
  opened(connection: MemberConnection): void {
    const slot = this.#fleet.find(connection.clusterId);
    if (slot >= 0) this.#fleet.openConnections.opened(slot, connection);
  }

  closed(connection: MemberConnection): void {
    this.#fleet.openConnections.closed(connection);
  }

  disconnected(connection: MemberConnection, nowMs: number): void {
    const table = this.#table;
    const owner = this.#fleet.connections.remove(connection.serverId, connection.clientId);
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
    this.proposals.look(slot, nowMs);
  }

  /** Lets time pass: deadlines, and the beginning and end of outages. */
  advance(nowMs: number): void {
    this.proposals.advance(nowMs);
  }

  /** What the fleet has been told of how often it sends heartbeats, and how slowly it comes back. */
  changeInterval(inForce: IntervalInForce): void {
    this.#fleet.changeInterval(inForce);
  }

  /** We could not hear until now (a start, a pause, a lost connection): every cluster has its whole grace from here on. */
  listenAfresh(nowMs: number): void {
    this.#fleet.listenAfresh(nowMs);
  }

  /**
   * The hub was away, or a part of the network: agents come back one after the other, over the time that the hub has told them. Silence
   * counts once each has had its turn.
   */
  awaitReturn(nowMs: number): void {
    this.#fleet.listenAfresh(this.#fleet.returnedMs(nowMs));
  }

  /** After our own connection was lost nobody knows which connections of members are open. */
  forgetConnections(): void {
    this.#fleet.forgetConnections();
  }

  /** @param group - absent: of the whole fleet */
  holdForOutage(nowMs: number, group?: OutageGroup): void {
    this.#fleet.outages.hold(nowMs, group);
  }

  /** Another replica heard the cluster later than we did: the youngest heartbeat wins. */
  heardElsewhere(clusterId: string, lastHeartbeatMs: number): void {
    const table = this.#table;
    const slot = this.#fleet.find(clusterId);
    if (slot < 0 || lastHeartbeatMs <= table.lastHeartbeatMs[slot]!) return;
    table.lastHeartbeatMs[slot] = lastHeartbeatMs;
    // What it said we do not know; what has been written of it is younger than what we heard.
    table.set(slot, marks.memberDown, table.stateOf(slot) === 'memberDown');
  }

  /** It was told, and another replica has heard a heartbeat since. */
  forgetGoodbye(clusterId: string): void {
    const slot = this.#fleet.find(clusterId);
    if (slot >= 0) this.#table.set(slot, marks.saidGoodbye, false);
  }

  /**
   * Who has sent a heartbeat more often than that since the last call, or has too many connections; the count of everybody's heartbeats
   * starts again.
   * @param most - heartbeats; far above what an agent sends
   */
  takeFloods(most: number): HeardFlood[] {
    const { heartbeats, open, ids } = this.#table;
    const floods: HeardFlood[] = [];
    for (let slot = 0; slot < heartbeats.length; slot++) {
      const [count, connections] = [heartbeats[slot]!, open[slot]!];
      if ((count <= most && connections <= mostConnections) || !ids.isUsed(slot)) continue;
      const tooMany = connections > mostConnections ? { connections } : {};
      floods.push({ clusterId: ids.textOf(slot), heartbeats: count, ...tooMany });
    }
    heartbeats.fill(0);
    return floods;
  }

  #slotOfMember(connection: MemberConnection): number {
    const slot = this.#fleet.find(connection.clusterId);
    return slot >= 0 && this.#table.keyHash[slot] === hashOfKey(connection.key) ? slot : -1;
  }

  /** Of a server that was killed nobody tells which connections have ended. Whose agent is not back by now is found silent. */
  #forgetFormer(connection: MemberConnection): void {
    const { connections } = this.#table;
    for (const slot of this.#fleet.connections.forgetFormer(connection))
      if (connections[slot]! > 0) connections[slot]!--;
  }

  #connectionIsBack(slot: number): void {
    const table = this.#table;
    if (!table.has(slot, marks.connectionLost)) return;
    table.set(slot, marks.connectionLost, false);
    if (isHeard(table.stateOf(slot))) this.#output.live(table.ids.textOf(slot), 'ready', 'ConnectionBack');
  }
}

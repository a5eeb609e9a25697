import { ByteIndex } from './byte-index.ts';
import { copiedInto } from './grow-column.ts';
import type { LivenessState } from '@rollcall/shared/events';

/** The order gives the number in the column. */
export const livenessStates = [
  'neverSeen',
  'ready',
  'suspect',
  'unreachable',
  'stopped',
  'memberDown',
  'flapping',
] as const satisfies LivenessState[];

export const readyState = livenessStates.indexOf('ready');

/** What is going on with a cluster beside its state; a healthy one has none of them. */
export const marks = {
  heartbeatSinceChange: 1,
  saidGoodbye: 2,
  connectionLost: 4,
  /** Counted by the outage guard. */
  silent: 8,
  /** A transition is being written. */
  writing: 16,
  /** Its key may be in use twice, so its heartbeats are counted. */
  keyWatched: 32,
  /** Its newest heartbeat said so. */
  memberDown: 64,
} as const;

/**
 * One compact entry a cluster: 64 bytes of id and 52 bytes of columns, no object. Columns are public because every heartbeat
 * reads and writes them; who may change what is the engine's business.
 */
export class ClusterTable {
  readonly ids: ByteIndex;
  lastHeartbeatMs: Float64Array;
  connectionLostMs: Float64Array;
  silentSinceMs: Float64Array;
  intervalMs: Uint32Array;
  graceMs: Uint32Array;
  /** Hash of the admitted key: it only tells the present key from a replaced one, the server has verified both. */
  keyHash: Int32Array;
  /** Open connections of the admitted key that were seen to begin. */
  connections: Uint16Array;
  /** All open connections with credentials of the cluster, whatever they are called. */
  open: Uint16Array;
  /** Which of them began last; 0: nobody knows. */
  newest: Uint32Array;
  /** Groups of the outage watch. */
  server: Uint16Array;
  clusterSet: Uint16Array;
  /** Heartbeats since the last look for floods. */
  heartbeats: Uint32Array;
  /** Number of the newest transition that is, or was, being written. */
  proposal: Uint32Array;
  state: Uint8Array;
  mark: Uint8Array;
  readonly #countOf = new Uint32Array(livenessStates.length);

  constructor(capacity = 64) {
    this.ids = new ByteIndex(capacity);
    this.lastHeartbeatMs = new Float64Array(capacity);
    this.connectionLostMs = new Float64Array(capacity);
    this.silentSinceMs = new Float64Array(capacity);
    this.intervalMs = new Uint32Array(capacity);
    this.graceMs = new Uint32Array(capacity);
    this.keyHash = new Int32Array(capacity);
    this.connections = new Uint16Array(capacity);
    this.open = new Uint16Array(capacity);
    this.newest = new Uint32Array(capacity);
    this.server = new Uint16Array(capacity);
    this.clusterSet = new Uint16Array(capacity);
    this.heartbeats = new Uint32Array(capacity);
    this.proposal = new Uint32Array(capacity);
    this.state = new Uint8Array(capacity);
    this.mark = new Uint8Array(capacity);
  }

  get capacity(): number {
    return this.ids.capacity;
  }

  /** @returns the slot of a cluster that was not known, with all columns zero and state `neverSeen` */
  add(id: Uint8Array): number {
    const slot = this.ids.insert(id, 0, id.length);
    if (this.lastHeartbeatMs.length < this.ids.capacity) this.#grow(this.ids.capacity);
    this.#clear(slot);
    this.#countOf[0]!++;
    return slot;
  }

  remove(slot: number): void {
    this.#countOf[this.state[slot]!]!--;
    this.ids.remove(slot);
  }

  stateOf(slot: number): LivenessState {
    return livenessStates[this.state[slot]!]!;
  }

  setState(slot: number, state: LivenessState): void {
    const number = livenessStates.indexOf(state);
    this.#countOf[this.state[slot]!]!--;
    this.#countOf[number]!++;
    this.state[slot] = number;
  }

  countOf(state: LivenessState): number {
    return this.#countOf[livenessStates.indexOf(state)]!;
  }

  has(slot: number, mark: number): boolean {
    return (this.mark[slot]! & mark) !== 0;
  }

  set(slot: number, mark: number, on: boolean): void {
    this.mark[slot] = on ? this.mark[slot]! | mark : this.mark[slot]! & ~mark;
  }

  *slots(): Iterable<number> {
    for (let slot = 0; slot < this.ids.capacity; slot++) if (this.ids.isUsed(slot)) yield slot;
  }

  /** One by one: a loop over arrays of several kinds takes ten times as long. */
  #clear(slot: number): void {
    this.lastHeartbeatMs[slot] = 0;
    this.connectionLostMs[slot] = 0;
    this.silentSinceMs[slot] = 0;
    this.intervalMs[slot] = 0;
    this.graceMs[slot] = 0;
    this.keyHash[slot] = 0;
    this.connections[slot] = 0;
    this.open[slot] = 0;
    this.newest[slot] = 0;
    this.server[slot] = 0;
    this.clusterSet[slot] = 0;
    this.heartbeats[slot] = 0;
    this.proposal[slot] = 0;
    this.state[slot] = 0;
    this.mark[slot] = 0;
  }

  #grow(capacity: number): void {
    this.lastHeartbeatMs = copiedInto(this.lastHeartbeatMs, new Float64Array(capacity));
    this.connectionLostMs = copiedInto(this.connectionLostMs, new Float64Array(capacity));
    this.silentSinceMs = copiedInto(this.silentSinceMs, new Float64Array(capacity));
    this.intervalMs = copiedInto(this.intervalMs, new Uint32Array(capacity));
    this.graceMs = copiedInto(this.graceMs, new Uint32Array(capacity));
    this.keyHash = copiedInto(this.keyHash, new Int32Array(capacity));
    this.connections = copiedInto(this.connections, new Uint16Array(capacity));
    this.open = copiedInto(this.open, new Uint16Array(capacity));
    this.newest = copiedInto(this.newest, new Uint32Array(capacity));
    this.server = copiedInto(this.server, new Uint16Array(capacity));
    this.clusterSet = copiedInto(this.clusterSet, new Uint16Array(capacity));
    this.heartbeats = copiedInto(this.heartbeats, new Uint32Array(capacity));
    this.proposal = copiedInto(this.proposal, new Uint32Array(capacity));
    this.state = copiedInto(this.state, new Uint8Array(capacity));
    this.mark = copiedInto(this.mark, new Uint8Array(capacity));
  }
}

import { ServerIds } from './server-ids.ts';

/** No client of a NATS server has the id 0. */
const empty = 0;

function hashOf(server: number, client: number): number {
  const mixed = Math.imul(client ^ Math.imul(server + 1, 0x9e_37_79_b1), 0x85_eb_ca_6b);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** Tells connections apart, never 0. Of a cluster's few, no two are alike but by one chance in four thousand million. */
export function tagOf(serverId: string, clientId: number): number {
  let hash = clientId;
  for (let index = 0; index < serverId.length; index++)
    hash = Math.imul(hash ^ serverId.charCodeAt(index), 0x01_00_01_93);
  return hashOf(hash, clientId) || 1;
}

/**
 * Which open connections of members there are: (server id, client id) → the cluster's slot. Typed arrays with open
 * addressing, because there are as many connections as clusters.
 */
export class ConnectionTable {
  /** A handful; a restarted server comes with a new id. */
  readonly #servers = new Map<string, number>();
  readonly #ids = new ServerIds();
  #size = 0;
  #client: Float64Array;
  #server: Uint32Array;
  #slot: Int32Array;

  /** @param cells - a power of two; at most half of them are used */
  constructor(cells = 128) {
    this.#client = new Float64Array(cells);
    this.#server = new Uint32Array(cells);
    this.#slot = new Int32Array(cells);
  }

  get size(): number {
    return this.#size;
  }

  /** @returns false when the connection was known already (a notice that came twice) */
  add(serverId: string, clientId: number, slot: number): boolean {
    if (this.#size * 2 >= this.#client.length) this.#grow();
    const server = this.#numberOf(serverId);
    const cell = this.#cellOf(server, clientId);
    if (this.#client[cell] !== empty) return false;
    this.#set(cell, { server, client: clientId, slot });
    this.#size++;
    return true;
  }

  /** @returns the slot the connection belonged to, or -1 when it was not known */
  remove(serverId: string, clientId: number): number {
    const server = this.#servers.get(serverId);
    if (server === undefined) return -1;
    let hole = this.#cellOf(server, clientId);
    if (this.#client[hole] === empty) return -1;
    const slot = this.#slot[hole]!;
    const mask = this.#client.length - 1;
    // Whoever probed past the hole moves back, so that no tombstones pile up.
    for (let cell = (hole + 1) & mask; this.#client[cell] !== empty; cell = (cell + 1) & mask) {
      const home = hashOf(this.#server[cell]!, this.#client[cell]!) & mask;
      if (((cell - home) & mask) < ((cell - hole) & mask)) continue;
      this.#set(hole, { server: this.#server[cell]!, client: this.#client[cell]!, slot: this.#slot[cell]! });
      hole = cell;
    }
    this.#client[hole] = empty;
    this.#size--;
    return slot;
  }

  /**
   * Forgets what the server of this connection had before it was started again: those are gone, and nobody tells of each.
   * @returns their slots
   */
  forgetFormer(of: { readonly serverId: string; readonly serverName: string }): number[] {
    const former = this.#ids.meet(of);
    return former === undefined ? [] : this.#removeServer(former);
  }

  #removeServer(serverId: string): number[] {
    const server = this.#servers.get(serverId);
    if (server === undefined) return [];
    const clients = this.#client.filter((client, cell) => client !== empty && this.#server[cell] === server);
    return Array.from(clients, (client) => this.remove(serverId, client));
  }

  clear(): void {
    this.#client.fill(empty);
    this.#servers.clear();
    this.#ids.clear();
    this.#size = 0;
  }

  #numberOf(serverId: string): number {
    const known = this.#servers.get(serverId);
    if (known !== undefined) return known;
    this.#servers.set(serverId, this.#servers.size);
    return this.#servers.size - 1;
  }

  /** Where the connection stands, or the empty cell where it would. */
  #cellOf(server: number, client: number): number {
    const mask = this.#client.length - 1;
    let cell = hashOf(server, client) & mask;
    while (this.#client[cell] !== empty && (this.#client[cell] !== client || this.#server[cell] !== server)) {
      cell = (cell + 1) & mask;
    }
    return cell;
  }

  #set(cell: number, connection: { server: number; client: number; slot: number }): void {
    this.#client[cell] = connection.client;
    this.#server[cell] = connection.server;
    this.#slot[cell] = connection.slot;
  }

  #grow(): void {
    const [clients, servers, slots] = [this.#client, this.#server, this.#slot];
    this.#client = new Float64Array(clients.length * 2);
    this.#server = new Uint32Array(clients.length * 2);
    this.#slot = new Int32Array(clients.length * 2);
    for (const [cell, client] of clients.entries()) {
      if (client === empty) continue;
      const server = servers[cell]!;
      this.#set(this.#cellOf(server, client), { server, client, slot: slots[cell]! });
    }
  }
}

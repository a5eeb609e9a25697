import type { ClusterTable } from './cluster-table.ts';
import { ConnectionTable } from './connection-table.ts';
import type { MemberConnection } from './liveness-signals.ts';

/**
 * How many connections each cluster has open, in column `open`. An agent has one, a second one for the tunnel, and for a minute those of
 * a network that is dead.
 */
export class OpenConnections {
  readonly #table: Pick<ClusterTable, 'open'>;
  readonly #all = new ConnectionTable();
  /** By its name, the newest id: a server that is started again has another one. */
  readonly #ids = new Map<string, string>();
  readonly #knownIds = new Set<string>();

  constructor(table: Pick<ClusterTable, 'open'>) {
    this.#table = table;
  }

  opened(slot: number, { serverId, serverName, clientId }: MemberConnection): void {
    if (!this.#knownIds.has(serverId)) this.#meet(serverId, serverName);
    if (this.#all.add(serverId, clientId, slot)) this.#table.open[slot]!++;
  }

  closed({ serverId, clientId }: MemberConnection): void {
    this.#less(this.#all.remove(serverId, clientId));
  }

  clear(): void {
    this.#all.clear();
    this.#ids.clear();
    this.#knownIds.clear();
    this.#table.open.fill(0);
  }

  #meet(serverId: string, serverName: string): void {
    const former = this.#ids.get(serverName);
    if (former !== undefined) for (const slot of this.#all.removeServer(former)) this.#less(slot);
    this.#ids.set(serverName, serverId);
    this.#knownIds.add(serverId);
  }

  #less(slot: number): void {
    // Whoever has the slot by now may be another one.
    if (slot >= 0 && this.#table.open[slot]! > 0) this.#table.open[slot]!--;
  }
}

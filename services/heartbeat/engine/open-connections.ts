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

  constructor(table: Pick<ClusterTable, 'open'>) {
    this.#table = table;
  }

  opened(slot: number, connection: MemberConnection): void {
    for (const each of this.#all.forgetFormer(connection)) this.#less(each);
    if (this.#all.add(connection.serverId, connection.clientId, slot)) this.#table.open[slot]!++;
  }

  closed({ serverId, clientId }: MemberConnection): void {
    this.#less(this.#all.remove(serverId, clientId));
  }

  clear(): void {
    this.#all.clear();
    this.#table.open.fill(0);
  }

  #less(slot: number): void {
    // Whoever has the slot by now may be another one.
    if (slot >= 0 && this.#table.open[slot]! > 0) this.#table.open[slot]!--;
  }
}

import { heartbeatFlags } from '@rollcall/shared/bus';

interface Signs {
  heartbeats: number;
  goodbyes: number;
  /** How often it wrote that the cluster is there, or has stopped. */
  ready: number;
  stopped: number;
}

/**
 * I7: one transition for each real change. What one process of the heartbeat service has heard of each cluster bounds what
 * it may write of it, whatever the other replicas write and whatever their clocks say: one `ready` for each heartbeat, one `stopped` for
 * each goodbye. Two processes that correct each other without end break it. A joining may follow from a heartbeat of the moment
 * before, which is told from those of a former key by two clocks.
 */
export class SignsOfLife {
  readonly #of = new Map<string, Signs>();

  heard(clusterId: string, flags: number): void {
    const signs = this.#signs(clusterId);
    signs.heartbeats++;
    if ((flags & heartbeatFlags.goodbye) !== 0) signs.goodbyes++;
  }

  /** @returns why the transition that was written follows from nothing, or undefined */
  written(clusterId: string, type: string): string | undefined {
    const signs = this.#signs(clusterId);
    if (type === 'stopped') signs.stopped++;
    if (type === 'ready') signs.ready++;
    if (signs.stopped > signs.goodbyes)
      return `it stopped ${signs.stopped} times, by ${signs.goodbyes} goodbyes`;
    return signs.ready > signs.heartbeats
      ? `it was ready ${signs.ready} times, by ${signs.heartbeats} heartbeats`
      : undefined;
  }

  #signs(clusterId: string): Signs {
    let signs = this.#of.get(clusterId);
    if (!signs) this.#of.set(clusterId, (signs = { heartbeats: 0, goodbyes: 0, ready: 0, stopped: 0 }));
    return signs;
  }
}

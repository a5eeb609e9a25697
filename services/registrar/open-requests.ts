import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, foldRecord, type StoredEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

const opening = 'requested';
/** Each of them ends the waiting of a request that came before it. */
const closing = ['approved', 'denied', 'revoked', 'banned', 'leaving', 'refused', 'left'] as const;
/** How far the count may be behind while requests pour in. */
const lookAgainMs = 250;

interface OpenRequest {
  readonly tokenId: string;
  readonly sequence: number;
}

/** Counts the requests that nobody has decided, by reading events of a few types in any order. Pure bookkeeping. */
export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #ofToken = new Map<string, number>();
  /** Ends that were read before their beginning: only those of the last round can be. */
  #ended = new Map<string, number>();
  #endedBefore = new Map<string, number>();

  begin(clusterId: string, request: OpenRequest): void {
    const endedAt = Math.max(this.#ended.get(clusterId) ?? 0, this.#endedBefore.get(clusterId) ?? 0);
    if (endedAt > request.sequence) return;
    this.#forget(clusterId);
    this.#open.set(clusterId, request);
    this.#ofToken.set(request.tokenId, this.withToken(request.tokenId) + 1);
  }

  end(clusterId: string, sequence: number): void {
    this.#ended.set(clusterId, sequence);
    const open = this.#open.get(clusterId);
    if (open && open.sequence < sequence) this.#forget(clusterId);
  }

  nextRound(): void {
    this.#endedBefore = this.#ended;
    this.#ended = new Map();
  }

  get total(): number {
    return this.#open.size;
  }

  withToken(tokenId: string): number {
    return this.#ofToken.get(tokenId) ?? 0;
  }

  #forget(clusterId: string): void {
    const open = this.#open.get(clusterId);
    if (!open) return;
    this.#open.delete(clusterId);
    const left = this.withToken(open.tokenId) - 1;
    if (left > 0) this.#ofToken.set(open.tokenId, left);
    else this.#ofToken.delete(open.tokenId);
  }
}

/**
 * Follows the stream, so that the caps hold also after a restart and for what other replicas let in. It is behind by moments
 * (and at the start until the history was read once), which a cap can be: nothing is granted by it.
 * @returns the count, and how to stop following
 */
export function followOpenRequests(
  nc: NatsConnection,
  { log, logger }: { log: Pick<EventLog, 'scan'>; logger: Logger },
): { requests: OpenRequests; stop(): Promise<void> } {
  const requests = new OpenRequests();
  const nextOf = new Map<string, number>();
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function readType(type: string, take: (event: StoredEvent) => void): Promise<void> {
    const scan = log.scan({ filter: `cluster.*.${type}`, fromSequence: nextOf.get(type) ?? 1 });
    for await (const event of scan) {
      if (isStopped) return;
      take(event);
      nextOf.set(type, event.sequence + 1);
    }
  }

  async function readOn(): Promise<void> {
    await readType(opening, (event) => {
      const { identity } = clusterRecord(foldRecord(event, [event]));
      const { sequence } = event;
      if (identity) requests.begin(event.id, { tokenId: identity.request.tokenId, sequence });
    });
    for (const type of closing) await readType(type, ({ id, sequence }) => requests.end(id, sequence));
    requests.nextRound();
  }

  let isWoken = false;
  let reading = Promise.resolve();
  function read(): void {
    isWoken = false;
    reading = readOn()
      .catch((thrown: unknown) => {
        if (isStopped || nc.isClosed()) return;
        logger.warn({ err: toRollcallError(thrown) }, 'open requests could not be counted');
        isWoken = true;
      })
      .finally(() => {
        timer = undefined;
        if (isWoken) wake();
      });
  }
  function wake(): void {
    isWoken = true;
    if (!isStopped) timer ??= setTimeout(read, lookAgainMs);
  }

  const subscriptions = [opening, ...closing].map((type) =>
    nc.subscribe(`rollcall.events.cluster.*.${type}`, { callback: wake }),
  );
  wake();
  return {
    requests,
    async stop() {
      isStopped = true;
      for (const subscription of subscriptions) subscription.unsubscribe();
      clearTimeout(timer);
      await reading;
    },
  };
}

import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, foldRecord, type StoredEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

const opening = 'requested';
/** Each of them ends the waiting of a request that came before it. */
const closing = ['approved', 'denied', 'revoked', 'banned', 'leaving', 'refused', 'left'] as const;

interface OpenRequest {
  readonly tokenId: string;
  readonly sequence: number;
}

/** Counts the requests that nobody has decided, by reading events of a few types in any order. Pure bookkeeping. */
export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #ofToken = new Map<string, number>();
  /** Ends whose beginning may be read after them. */
  readonly #ended = new Map<string, number>();

  begin(clusterId: string, request: OpenRequest): void {
    const newest = Math.max(this.#ended.get(clusterId) ?? 0, this.#open.get(clusterId)?.sequence ?? 0);
    if (newest > request.sequence) return;
    this.#forget(clusterId);
    this.#open.set(clusterId, request);
    this.#ofToken.set(request.tokenId, this.withToken(request.tokenId) + 1);
  }

  end(clusterId: string, sequence: number): void {
    this.#ended.set(clusterId, Math.max(this.#ended.get(clusterId) ?? 0, sequence));
    const open = this.#open.get(clusterId);
    if (open && open.sequence < sequence) this.#forget(clusterId);
  }

  /** Every beginning before this sequence was told: what ended before it is remembered no more. */
  toldBefore(sequence: number): void {
    for (const [clusterId, endedAt] of this.#ended) if (endedAt < sequence) this.#ended.delete(clusterId);
  }

  get total(): number {
    return this.#open.size;
  }

  withToken(tokenId: string): number {
    return this.#ofToken.get(tokenId) ?? 0;
  }

  /** @param tokenId - undefined: of none */
  counts(tokenId: string | undefined): { readonly open: number; readonly openWithToken: number } {
    return { open: this.total, openWithToken: tokenId === undefined ? 0 : this.withToken(tokenId) };
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

/** The bus was away, or does not answer. */
const readAgainMs = 1000;
/** For what was lost on the way: a server that dies tells no more of what it stored. */
const lookAgainMs = 30_000;

/**
 * Follows the stream, so that the caps hold also after a restart and for what other replicas let in. The history is read once; then
 * what was stored is heard, and read after a reconnect and now and then. It is behind by moments (and at the start until the history was
 * read), which a cap can be: nothing is granted by it.
 * @returns the count, and how to stop following
 */
export function followOpenRequests(
  nc: NatsConnection,
  { log, logger }: { log: Pick<EventLog, 'scan' | 'heard'>; logger: Logger },
): { requests: OpenRequests; stop(): Promise<void> } {
  const requests = new OpenRequests();
  const nextOf = new Map<string, number>();
  let newest = 0;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  function take(
    { id, type, sequence }: Pick<StoredEvent, 'id' | 'type' | 'sequence'>,
    decode: () => StoredEvent | undefined,
  ): void {
    newest = Math.max(newest, sequence);
    if (type !== opening) return requests.end(id, sequence);
    const event = decode();
    const { identity } = event ? clusterRecord(foldRecord(event, [event])) : {};
    if (identity) requests.begin(id, { tokenId: identity.request.tokenId, sequence });
  }

  /** Types one after the other, so ends may be read before their beginning. */
  async function readOn(): Promise<void> {
    const known = newest;
    for (const type of [opening, ...closing]) {
      const scan = log.scan({
        filter: `cluster.*.${type}`,
        fromSequence: nextOf.get(type) ?? 1,
        isWhole: true,
      });
      for await (const event of scan) {
        if (isStopped) return;
        take(event, () => event);
        nextOf.set(type, event.sequence + 1);
      }
    }
    // Also where nobody asks for weeks, and many leave.
    requests.toldBefore(Math.max(known, nextOf.get(opening) ?? 1));
  }

  let reading: Promise<void> | undefined;
  /** Of two at once, the second begins when the first has ended: it may have begun before what the second is to find. */
  function read(): void {
    const mine: Promise<void> = (reading ?? Promise.resolve())
      .then(readOn)
      .catch((thrown: unknown) => {
        if (isStopped || nc.isClosed()) return;
        logger.warn({ err: toRollcallError(thrown) }, 'open requests could not be counted');
        timer = setTimeout(read, readAgainMs);
      })
      .finally(() => {
        if (reading === mine) reading = undefined;
      });
    reading = mine;
  }
  async function followReconnects(): Promise<void> {
    for await (const { type } of nc.status()) if (type === 'reconnect' && !isStopped) read();
  }
  void followReconnects();

  const subscriptions = [opening, ...closing].map((type) =>
    nc.subscribe(`rollcall.stored.cluster.*.${type}`, {
      callback: (error, message) => {
        const event = error ? undefined : log.heard(message);
        if (event) take(event, event.decode);
      },
    }),
  );
  read();
  const lookingAgain = setInterval(() => reading ?? read(), lookAgainMs);
  return {
    requests,
    async stop() {
      isStopped = true;
      clearInterval(lookingAgain);
      for (const subscription of subscriptions) subscription.unsubscribe();
      clearTimeout(timer);
      await reading;
    },
  };
}

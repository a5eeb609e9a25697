import { randomUUID } from 'node:crypto';
import {
  clusterStates,
  type ClusterRow,
  type CountsRow,
  type EventRow,
  type HubRow,
  type LiveMessage,
  type RequestRow,
} from '../../rows/index.ts';
import { inParts } from './in-parts.ts';

/** A batch of changes, or a part of a snapshot; with the id from which a page can go on. */
export interface LivePart {
  readonly id?: string;
  readonly messages: readonly LiveMessage[];
}

/** The fleet as it is now, for all pages, and the latest changes. */
export interface LiveSnapshot {
  putHub(change: Partial<HubRow>): void;
  putCluster(row: ClusterRow): void;
  dropCluster(name: string): void;
  clusterIds(): string[];
  /** @param id - of the cluster whose agent is connected to that server */
  putServer(id: string, server: string): void;
  putRequest(row: RequestRow): void;
  dropRequest(id: string): void;
  addEvent(row: EventRow): void;
  /** Notes how many clusters are in each state now. */
  count(atMs: number): void;
  hub(): HubRow;
  clusterNameOf(id: string): string | undefined;
  /**
   * What one page gets, at its own pace: the changes after `lastId` where they are still kept, else a snapshot of everything and the
   * changes after that. A page that falls behind what is kept gets a snapshot again.
   */
  follow(lastId: string | undefined, signal: AbortSignal): AsyncIterable<LivePart>;
  stop(): void;
}

/** At most five batches a second: eyes need no more, and a burst of a fleet is one batch. */
const batchMs = 200;
/** Batches that are kept for pages that lost their connection: a minute of a busy fleet. */
const mostBatches = 300;
/** Rows in the batches that are kept: beyond this a snapshot is less to send. */
const mostKeptRows = 50_000;
const mostEvents = 1000;
/** An hour at one count every ten seconds. */
const mostCounts = 360;

interface Batch {
  readonly messages: readonly LiveMessage[];
  readonly rows: number;
}

interface Pending {
  hub: boolean;
  readonly clusters: Map<string, ClusterRow | undefined>;
  readonly requests: Map<string, RequestRow | undefined>;
  events: EventRow[];
  counts: CountsRow[];
}

const nothingPending = (): Pending => ({
  hub: false,
  clusters: new Map(),
  requests: new Map(),
  events: [],
  counts: [],
});

/** Changed rows and the names of those that are gone. */
function split<Row>(changes: ReadonlyMap<string, Row | undefined>): { rows: Row[]; gone: string[] } {
  const rows: Row[] = [];
  const gone: string[] = [];
  for (const [key, row] of changes) {
    if (row === undefined) gone.push(key);
    else rows.push(row);
  }
  return { rows, gone };
}

export function createLiveSnapshot(first: HubRow): LiveSnapshot {
  // Ids of another console mean nothing here.
  const instance = randomUUID().slice(0, 8);
  const clusters = new Map<string, ClusterRow>();
  const requests = new Map<string, RequestRow>();
  const names = new Map<string, string>();
  /** By id of the cluster. */
  const servers = new Map<string, string>();
  const events: EventRow[] = [];
  const counts: CountsRow[] = [];
  const inState = new Map<string, number>();
  let hub = first;

  const batches: Batch[] = [];
  /** Number of the newest batch; the oldest that is kept is `newest - batches.length + 1`. */
  let newest = 0;
  let keptRows = 0;
  let pending = nothingPending();
  let timer: NodeJS.Timeout | undefined;
  let changed = Promise.withResolvers<void>();

  function flush(): void {
    timer = undefined;
    const { rows, gone } = split(pending.clusters);
    const ofRequests = split(pending.requests);
    const messages: LiveMessage[] = [];
    if (pending.hub) messages.push({ kind: 'hub', hub });
    if (pending.clusters.size > 0) messages.push({ kind: 'clusters', rows, gone });
    if (pending.requests.size > 0) messages.push({ kind: 'requests', ...ofRequests });
    if (pending.events.length > 0) messages.push({ kind: 'events', rows: pending.events });
    if (pending.counts.length > 0) messages.push({ kind: 'counts', rows: pending.counts });
    const size = pending.clusters.size + pending.requests.size + pending.events.length;
    pending = nothingPending();
    batches.push({ messages, rows: size });
    newest++;
    keptRows += size;
    while (batches.length > mostBatches || (keptRows > mostKeptRows && batches.length > 1))
      keptRows -= batches.shift()?.rows ?? 0;
    changed.resolve();
    changed = Promise.withResolvers<void>();
  }

  function change(note: (to: Pending) => void): void {
    note(pending);
    timer ??= setTimeout(flush, batchMs);
  }

  function recount(before: ClusterRow | undefined, after: ClusterRow | undefined): void {
    if (before) inState.set(before.state, (inState.get(before.state) ?? 0) - 1);
    if (after) inState.set(after.state, (inState.get(after.state) ?? 0) + 1);
  }

  /** Whether its cluster is there: that has the name, whatever its agent asks for. */
  const isShown = (id: string) => clusters.get(names.get(id) ?? '')?.id === id;

  const idOf = (number: number) => `${instance}-${number}`;
  /** @returns undefined where the changes after it are not kept any more */
  function placeOf(id: string | undefined): number | undefined {
    const [of, text = ''] = id?.split('-') ?? [];
    const number = Number(text);
    if (of !== instance || !/^\d+$/.test(text)) return undefined;
    return number <= newest && number >= newest - batches.length ? number : undefined;
  }

  function* wholeSnapshot(): Generator<LivePart> {
    const at = newest;
    yield { messages: [{ kind: 'begin' }, { kind: 'hub', hub }] };
    for (const rows of inParts(clusters.values())) yield { messages: [{ kind: 'clusters', rows, gone: [] }] };
    for (const rows of inParts(requests.values())) yield { messages: [{ kind: 'requests', rows, gone: [] }] };
    yield {
      id: idOf(at),
      messages: [
        { kind: 'events', rows: [...events] },
        { kind: 'counts', rows: [...counts] },
        { kind: 'whole' },
      ],
    };
  }

  async function* follow(lastId: string | undefined, signal: AbortSignal): AsyncGenerator<LivePart> {
    let at = placeOf(lastId);
    while (!signal.aborted) {
      if (at === undefined || at < newest - batches.length) {
        at = newest;
        yield* wholeSnapshot();
        continue;
      }
      const batch = batches[batches.length - (newest - at)];
      if (batch) {
        at++;
        yield { id: idOf(at), messages: batch.messages };
        continue;
      }
      const stopped = Promise.withResolvers<void>();
      const stop = () => stopped.resolve();
      signal.addEventListener('abort', stop, { once: true });
      await Promise.race([changed.promise, stopped.promise]);
      signal.removeEventListener('abort', stop);
    }
  }

  return {
    hub: () => hub,
    clusterNameOf: (id) => names.get(id),
    follow,
    stop: () => clearTimeout(timer),
    putHub(some) {
      hub = { ...hub, ...some };
      change((to) => (to.hub = true));
    },
    clusterIds: () => [...clusters.values()].flatMap(({ id }) => id ?? []),
    putServer(id, server) {
      const row = clusters.get(names.get(id) ?? '');
      if (row?.id !== id || row.server === server) return;
      servers.set(id, server);
      clusters.set(row.name, { ...row, server });
      change((to) => to.clusters.set(row.name, { ...row, server }));
    },
    putCluster(watched) {
      const server = servers.get(watched.id ?? '');
      const row = server === undefined ? watched : { ...watched, server };
      recount(clusters.get(row.name), row);
      clusters.set(row.name, row);
      if (row.id !== undefined) names.set(row.id, row.name);
      change((to) => to.clusters.set(row.name, row));
    },
    dropCluster(name) {
      const { id } = clusters.get(name) ?? {};
      recount(clusters.get(name), undefined);
      clusters.delete(name);
      // Under another name it may be there already.
      if (id !== undefined && names.get(id) === name) {
        servers.delete(id);
        if (!requests.has(id)) names.delete(id);
      }
      change((to) => to.clusters.set(name, undefined));
    },
    putRequest(row) {
      requests.set(row.id, row);
      if (!isShown(row.id)) names.set(row.id, row.name);
      change((to) => to.requests.set(row.id, row));
    },
    dropRequest(id) {
      requests.delete(id);
      if (!isShown(id)) names.delete(id);
      change((to) => to.requests.set(id, undefined));
    },
    addEvent(row) {
      events.push(row);
      if (events.length > mostEvents) events.splice(0, events.length - mostEvents);
      change((to) => {
        to.events.push(row);
        // A page shows the latest; of a burst beyond that nobody would see the first.
        if (to.events.length > mostEvents) to.events.splice(0, to.events.length - mostEvents);
      });
    },
    count(atMs) {
      const row = { atMs, counts: clusterStates.map((state) => inState.get(state) ?? 0) };
      counts.push(row);
      if (counts.length > mostCounts) counts.shift();
      change((to) => to.counts.push(row));
    },
  };
}

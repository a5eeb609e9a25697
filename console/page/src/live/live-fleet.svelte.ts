import type {
  ClusterRow,
  CountsRow,
  EventRow,
  HubRow,
  LiveMessage,
  RequestRow,
} from '../../../rows/index.ts';
import { noneInAnyState } from '@rollcall/shared/fleet/filter-clusters';
import { KeyedRows } from './keyed-rows.ts';
import { parseShown } from './parse-shown.ts';
import { newestFirst } from './newest-first.ts';

/** As many events as anybody scrolls through. */
const mostEvents = 2000;
const mostCounts = 360;
/** From here on views are made anew once a second at most: each looks at all clusters. */
const largeFleet = 5000;

/** What this page knows of the hub, kept current by one stream. Rows are never changed, so they are not watched one by one. */
class LiveFleet {
  hub = $state.raw<HubRow | undefined>();
  clusters = $state.raw<readonly ClusterRow[]>([]);
  requests = $state.raw<readonly RequestRow[]>([]);
  /** Newest first. */
  events = $state.raw<readonly EventRow[]>([]);
  counts = $state.raw<readonly CountsRow[]>([]);
  /** Whether a whole snapshot has come. */
  isWhole = $state(false);
  /** Of a snapshot that is coming. */
  coming = $state(0);
  /** Whether the console itself answers. */
  link = $state<'opening' | 'open' | 'broken' | 'refused'>('opening');

  #clusterRows = new KeyedRows<ClusterRow>((row) => row.name);
  #requestRows = new KeyedRows<RequestRow>((row) => row.id);
  #showing: ReturnType<typeof setTimeout> | undefined;
  /** Until a snapshot is whole, what is shown stays. */
  #isSnapshotComing = true;

  /** @returns how to end it */
  open(): () => void {
    const source = new EventSource('/api/live');
    source.addEventListener('open', () => (this.link = 'open'));
    source.addEventListener('message', ({ data }: MessageEvent<string>) =>
      this.take(parseShown<LiveMessage[]>(data)),
    );
    source.addEventListener('error', () => {
      this.link = source.readyState === EventSource.CLOSED ? 'refused' : 'broken';
    });
    return () => source.close();
  }

  take(messages: readonly LiveMessage[]): void {
    for (const message of messages) this.#takeOne(message);
    if (this.#isSnapshotComing) {
      this.coming = this.#clusterRows.size;
      return;
    }
    if (messages.some(({ kind }) => kind === 'requests' || kind === 'whole'))
      this.requests = this.#requestRows.sorted();
    if (messages.some(({ kind }) => kind === 'clusters' || kind === 'whole')) this.#showSoon();
  }

  #showSoon(): void {
    if (this.#showing !== undefined) return;
    const delayMs = this.#clusterRows.size > largeFleet ? 800 : 0;
    this.#showing = setTimeout(() => this.#show(), delayMs);
  }

  #show(): void {
    this.#showing = undefined;
    if (!this.#isSnapshotComing) this.clusters = this.#clusterRows.sorted();
  }

  countStates(): Record<ClusterRow['state'], number> {
    const counts = noneInAnyState();
    for (const { state } of this.clusters) counts[state]++;
    return counts;
  }

  clusterNamed(name: string): ClusterRow | undefined {
    return this.#clusterRows.get(name);
  }

  #takeOne(message: LiveMessage): void {
    switch (message.kind) {
      case 'begin':
        this.#isSnapshotComing = true;
        this.#clusterRows.clear();
        this.#requestRows.clear();
        break;
      case 'whole':
        this.#isSnapshotComing = false;
        this.#show();
        this.isWhole = true;
        break;
      case 'hub':
        this.hub = message.hub;
        break;
      case 'clusters':
        this.#clusterRows.change(message.rows, message.gone);
        break;
      case 'requests':
        this.#requestRows.change(message.rows, message.gone);
        break;
      case 'events':
        this.events = newestFirst(this.events, message.rows, mostEvents);
        break;
      case 'counts': {
        const known = new Set(this.counts.map(({ atMs }) => atMs));
        const added = message.rows.filter(({ atMs }) => !known.has(atMs));
        this.counts = [...this.counts, ...added].slice(-mostCounts);
      }
    }
  }
}

export const fleet = new LiveFleet();

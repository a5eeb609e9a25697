import type { ClusterRow, PastMessage, Refusal } from '../../../rows/index.ts';
import { askLines } from './ask-console.ts';

/** While a handle is moved, only where it comes to rest is read. */
const restsAfterMs = 250;

/** The fleet at a moment that was, read anew whenever that moment changes. */
class PastFleet {
  /** As the URL has it; empty: now. */
  at = $state('');
  clusters = $state.raw<readonly ClusterRow[]>([]);
  policies = $state.raw<readonly string[]>([]);
  /** What of the past is not in it. */
  notes = $state.raw<readonly string[]>([]);
  isWhole = $state(false);
  refusal = $state.raw<Refusal | undefined>();
  progress = $state.raw<{ readonly events: number; readonly upToMs: number } | undefined>();

  /** @returns how to end it */
  show(at: string): () => void {
    this.at = at;
    [this.isWhole, this.refusal, this.progress] = [false, undefined, undefined];
    if (at === '') return () => undefined;
    const leaving = new AbortController();
    const timer = setTimeout(() => void this.#read(at, leaving.signal), restsAfterMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }

  async #read(at: string, signal: AbortSignal): Promise<void> {
    const rows: ClusterRow[] = [];
    const refusal = await askLines<PastMessage>(
      `/api/past?at=${encodeURIComponent(at)}`,
      signal,
      (message) => {
        switch (message.kind) {
          case 'reading':
            this.progress = message;
            break;
          case 'clusters':
            rows.push(...message.rows);
            break;
          case 'refused':
            this.refusal = message.refusal;
            break;
          case 'whole':
            [this.clusters, this.policies, this.notes] = [rows, message.policies, message.notes];
            this.isWhole = true;
        }
      },
    );
    if (signal.aborted) return;
    this.refusal ??= refusal;
    if (this.refusal) this.clusters = [];
  }
}

export const past = new PastFleet();

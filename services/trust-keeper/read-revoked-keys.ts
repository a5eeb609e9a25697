import type { EventLog } from '@rollcall/shared/bus';
import { clusterRecord, type Decision } from '@rollcall/shared/events';

/** Reads that are on their way at once. */
const readsAtOnce = 64;

/**
 * Reads from the stream what every cluster's newest decision takes back. Events are shared among replicas, so no replica
 * has heard of them all: the list is always made from the stream, and a list made later is never older.
 * @param options.longestLifeMs - clusters whose last `revoked` is older have nothing on the list any more
 * @returns a function that is called for each list; it goes on in the stream where it was. Not for calls at the same time
 */
export function createRevokedKeysReader(
  log: Pick<EventLog, 'read' | 'scan'>,
  options: { longestLifeMs: number; nowMs(): number },
): () => Promise<Decision[]> {
  const lastRevokedAtMs = new Map<string, number>();
  let fromSequence = 1;

  async function decisionOf(id: string): Promise<Decision | undefined> {
    return clusterRecord(await log.read({ kind: 'cluster', id })).decision;
  }

  return async () => {
    const scan = log.scan({
      filter: 'cluster.*.revoked',
      fromSequence,
      onSkip(error) {
        // A list without the revocations of a newer version would let their keys in again.
        if (error.code === 'EVENT_VERSION_UNKNOWN') throw error;
      },
    });
    for await (const event of scan) {
      lastRevokedAtMs.set(event.id, event.timeMs);
      fromSequence = event.sequence + 1;
    }
    for (const [id, atMs] of lastRevokedAtMs) {
      if (atMs + options.longestLifeMs < options.nowMs()) lastRevokedAtMs.delete(id);
    }
    const ids = [...lastRevokedAtMs.keys()];
    const decisions: Decision[] = [];
    for (let start = 0; start < ids.length; start += readsAtOnce) {
      const some = await Promise.all(ids.slice(start, start + readsAtOnce).map(decisionOf));
      decisions.push(...some.filter((decision) => decision !== undefined));
    }
    return decisions;
  };
}

import { type EventLog, inTurn } from '@rollcall/shared/bus';
import type { RollcallError } from '@rollcall/shared/errors';
import { type Decision, isNewer, type StoredEvent } from '@rollcall/shared/events';

type RevokedKeys = Pick<Decision, 'revokedKeys'>;

interface Known extends RevokedKeys {
  readonly epoch: number;
  readonly sequence: number;
  readonly lastRevokedAtMs: number;
}

/** What the stream says is taken back. Both go on in the stream where the call before was; calls at the same time share one. */
export interface RevokedKeysReader {
  /** One for each cluster that has taken a key back; not older than the call. */
  read(): Promise<readonly RevokedKeys[]>;
  /** Whether a cluster has taken a key back within the longest life of a credential. */
  hasTakenBack(clusterId: string): Promise<boolean>;
}

/** A list without the revocations of a newer version would let their keys in again. */
function onSkip(error: RollcallError): void {
  if (error.code === 'EVENT_VERSION_UNKNOWN') throw error;
}

/**
 * Events are shared among replicas, so no replica is given them all: what counts is always read from the stream. Only what
 * is new is read, because with 10,000 keys on the list a read of each cluster would take seconds.
 *
 * Two kinds of events change the list: `revoked` puts keys on it, `approved` takes one off. Approvals are read first: one
 * that is seen is then never older than a `revoked` of the same cluster that is not.
 * @param options.longestLifeMs - clusters whose last `revoked` is older have nothing on the list any more
 */
export function createRevokedKeysReader(
  log: Pick<EventLog, 'scan'>,
  options: { longestLifeMs: number; nowMs(): number },
): RevokedKeysReader {
  const clusters = new Map<string, Known>();
  let revokedFrom = 1;
  /** Undefined until a key was taken back: approvals before that are of no interest, and there may be very many. */
  let approvedFrom: number | undefined;

  function learn(event: StoredEvent): void {
    const known = clusters.get(event.id);
    if (known && !isNewer(event, known)) return;
    const { revokedKeys } = event.section as Decision;
    const lastRevokedAtMs = event.type === 'revoked' ? event.timeMs : (known?.lastRevokedAtMs ?? 0);
    const { epoch, sequence } = event;
    clusters.set(event.id, { epoch, sequence, revokedKeys, lastRevokedAtMs });
  }

  async function catchUp(): Promise<void> {
    const approvals: StoredEvent[] = [];
    if (approvedFrom !== undefined) {
      for await (const event of log.scan({
        filter: 'cluster.*.approved',
        fromSequence: approvedFrom,
        onSkip,
      })) {
        approvals.push(event);
      }
    }
    for await (const event of log.scan({ filter: 'cluster.*.revoked', fromSequence: revokedFrom, onSkip })) {
      revokedFrom = event.sequence + 1;
      if (event.timeMs + options.longestLifeMs < options.nowMs()) continue;
      learn(event);
      approvedFrom ??= event.sequence;
    }
    for (const event of approvals) {
      if (clusters.has(event.id)) learn(event);
      // Not before: had the scan above failed, the next call must read them again.
      approvedFrom = event.sequence + 1;
    }
    for (const [id, { lastRevokedAtMs }] of clusters) {
      if (lastRevokedAtMs + options.longestLifeMs < options.nowMs()) clusters.delete(id);
    }
  }

  const caughtUp = inTurn(async () => {
    const isFirst = approvedFrom === undefined;
    await catchUp();
    if (isFirst && approvedFrom !== undefined) await catchUp();
  });

  return {
    async read() {
      await caughtUp();
      return [...clusters.values()];
    },
    async hasTakenBack(clusterId) {
      await caughtUp();
      return clusters.has(clusterId);
    },
  };
}

import { type EventLog, inTurn, type SkippedEvent } from '@rollcall/shared/bus';
import type { RollcallError } from '@rollcall/shared/errors';
import { type Decision, isNewer, type StoredEvent } from '@rollcall/shared/events';

type RevokedKeys = Pick<Decision, 'revokedKeys'>;

interface Known extends RevokedKeys {
  readonly epoch: number;
  readonly sequence: number;
  readonly lastRevokedAtMs: number;
}

/** What the stream says of keys that were taken back. */
export interface ToldKeys {
  /** One for each cluster that has taken a key back; not older than the call. */
  readonly takenBack: readonly RevokedKeys[];
  /** Keys that an approval let in again, and when it did. Infinity: after every word of the stream that took the key back. */
  readonly givenBack: ReadonlyMap<string, number>;
}

/** Both go on in the stream where the call before was; calls at the same time share one. */
export interface RevokedKeysReader {
  /** @param listed - keys on the servers' list now; for those that no event took back, every approval is read */
  read(listed?: Iterable<string>): Promise<ToldKeys>;
  /** Whether an approval can take a key off the list: its cluster has taken one back, or nobody knows who took back this one. */
  mayGiveBack(approval: StoredEvent): Promise<boolean>;
}

/**
 * Events are shared among replicas, so no replica is given them all: what counts is always read from the stream. Only what
 * is new is read, because with 10,000 keys on the list a read of each cluster would take seconds.
 *
 * Two kinds of events change the list: `revoked` puts keys on it, `approved` takes one off. A stream that has lost its `revoked`
 * takes nothing off: only an approval of the same key does. Approvals are read first: one
 * that is seen is then never older than a `revoked` of the same cluster that is not.
 * An event of a newer version says nothing here, and takes nothing: a key that is on the list stays until an approval of it is
 * understood. All other clusters go on.
 * @param options.longestLifeMs - clusters whose last `revoked` is older have nothing on the list any more
 * @param options.skipped - is told of each such event once
 */
export function createRevokedKeysReader(
  log: Pick<EventLog, 'scan'>,
  options: {
    longestLifeMs: number;
    nowMs(): number;
    skipped(error: RollcallError, event: SkippedEvent): void;
  },
): RevokedKeysReader {
  const clusters = new Map<string, Known>();
  const givenBack = new Map<string, number>();
  /** On the list, and taken back by no event: of a history that was lost, or not read yet. */
  const unexplained = new Set<string>();
  const toldOf = new Set<number>();
  let revokedFrom = 1;
  /** Undefined until a key was taken back: approvals before that are of no interest, and there may be very many. */
  let approvedFrom: number | undefined;

  function onSkip(error: RollcallError, event: SkippedEvent): void {
    if (error.code !== 'EVENT_VERSION_UNKNOWN' || toldOf.has(event.sequence)) return;
    toldOf.add(event.sequence);
    options.skipped(error, event);
  }

  function learn(event: StoredEvent): void {
    const known = clusters.get(event.id);
    if (known && !isNewer(event, known)) return;
    const { revokedKeys } = event.section as Decision;
    for (const { key } of known?.revokedKeys ?? []) givenBack.set(key, Number.POSITIVE_INFINITY);
    for (const { key } of revokedKeys) {
      givenBack.delete(key);
      unexplained.delete(key);
    }
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
      const { approvedKey } = event.section as Decision;
      if (clusters.has(event.id)) learn(event);
      if (approvedKey !== undefined && unexplained.has(approvedKey)) givenBack.set(approvedKey, event.timeMs);
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

  /** @returns whether approvals of before may say more of a key than was listened to */
  function noteListed(listed: Iterable<string>): boolean {
    const isTold = new Set(
      [...clusters.values()].flatMap(({ revokedKeys }) => revokedKeys.map(({ key }) => key)),
    );
    const before = unexplained.size;
    for (const key of listed) if (!isTold.has(key) && !givenBack.has(key)) unexplained.add(key);
    return unexplained.size > before;
  }

  return {
    async read(listed = []) {
      await caughtUp();
      if (noteListed(listed)) {
        approvedFrom = 1;
        await caughtUp();
      }
      return { takenBack: [...clusters.values()], givenBack };
    },
    async mayGiveBack(approval) {
      await caughtUp();
      const { approvedKey } = approval.section as Decision;
      return clusters.has(approval.id) || (approvedKey !== undefined && unexplained.has(approvedKey));
    },
  };
}

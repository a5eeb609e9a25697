import type { NatsConnection } from '@nats-io/transport-node';
import { digestAt, type HistoryWitness, inTurn, parseWitness } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { type HubKeys, witnessAccount, witnessClaims } from '@rollcall/shared/rights';
import type { Logger, ServiceContext } from '@rollcall/shared/service';
import { decodeJwt, encodeJwt, type Nkey } from '@rollcall/shared/trust';
import type { SystemAccount } from './system-account.ts';

/** What a history loses at most without being missed; nothing is written while nothing happens. */
const everyMs = 2000;

export interface WitnessParts {
  readonly system: Pick<SystemAccount, 'lookUp' | 'push'>;
  readonly history: ServiceContext['history'];
  readonly logger: Pick<Logger, 'warn'>;
  known(): { readonly keys: HubKeys; readonly signer: Nkey };
  nowMs(): number;
}

/** Whether what is kept already says as much. */
function saysAsMuch(kept: HistoryWitness | undefined, { epoch, sequence, missing }: HistoryWitness): boolean {
  if (!kept || kept.epoch !== epoch) return kept !== undefined && kept.epoch > epoch;
  return kept.sequence > sequence || (kept.sequence === sequence && (kept.missing ?? 0) >= (missing ?? 0));
}

function isSameOrLaterEpoch(kept: HistoryWitness | undefined, { epoch, digest }: HistoryWitness): boolean {
  return kept !== undefined && (kept.epoch > epoch || (kept.epoch === epoch && kept.digest === digest));
}

/**
 * Keeps, beside the streams and signed as accounts are, which event the history has come to. Only a history that has what was kept
 * before is believed, so one that was cut never becomes the witness of itself.
 */
export function keepWitness(nc: NatsConnection, parts: WitnessParts): { drain(): Promise<void> } {
  const { system, history, logger } = parts;
  let isSaid = 0;

  /** @param isOther - the history has another event in its place, so no later one of this epoch says as much */
  async function put(witness: HistoryWitness, isOther = false): Promise<void> {
    const { keys, signer } = parts.known();
    const account = witnessAccount(keys);
    const now = decodeJwt(await system.lookUp(account));
    const text = now?.nats['description'];
    const kept = typeof text === 'string' ? parseWitness(text) : undefined;
    const isKept = isOther ? isSameOrLaterEpoch(kept, witness) : saysAsMuch(kept, witness);
    if (isKept) return;
    const nowMs = Math.max(parts.nowMs(), ((now?.iat ?? 0) + 1) * 1000);
    const nats = witnessClaims(JSON.stringify(witness));
    await system.push(encodeJwt({ subject: account, name: 'WITNESS', nowMs, nats }, signer));
  }

  const keep = inTurn(async () => {
    try {
      const newest = await history.look();
      if (!newest || newest.sequence === isSaid) return;
      await put(newest);
      isSaid = newest.sequence;
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown) }, 'the witness of the history could not be kept');
    }
  });

  /** Kubernetes shows an event that the history does not have: kept beside the streams, so that each service misses it. */
  async function hear(witness: HistoryWitness): Promise<void> {
    // One of a later epoch would outlast every way on from a loss.
    if (!history.remember(witness)) return;
    try {
      await history.look();
    } catch (thrown) {
      if (toRollcallError(thrown).code !== 'HISTORY_LOST') throw thrown;
      // What is missed may be what was kept before: an event that the history does have must not take its place.
      const there = await digestAt(nc, witness.sequence);
      await put(witness, there !== undefined && there !== witness.digest);
    }
  }

  async function hearQuietly(witness: HistoryWitness): Promise<void> {
    try {
      await hear(witness);
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown) }, 'what Kubernetes shows of the history could not be kept');
    }
  }

  /**
   * Of what waits, the one that has come furthest, and the newest: whoever says a thousand at once has two looked at, and keeps nobody
   * from saying that the history has been further than it is.
   */
  let furthest: HistoryWitness | undefined;
  let newest: HistoryWitness | undefined;
  const hearThem = inTurn(async () => {
    const heard = [newest, furthest];
    furthest = newest = undefined;
    for (const witness of new Set(heard)) if (witness) await hearQuietly(witness);
  });
  const subscription = nc.subscribe('rollcall.history.witnessed', {
    callback(error, message) {
      if (error) return;
      newest = parseWitness(message.string()) ?? newest;
      if (newest && newest.sequence >= (furthest?.sequence ?? 0)) furthest = newest;
      void hearThem();
    },
  });
  const timer = setInterval(() => void keep(), everyMs);
  void keep();
  return {
    async drain() {
      clearInterval(timer);
      subscription.unsubscribe();
      await keep();
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  digestAt,
  type HistoryState,
  historyState,
  type HistoryWitness,
  keptWitness,
  missingOf,
  notBehind,
  whyLost,
} from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from './log.ts';

/** Whoever deletes or cuts the stream need not restart anything. */
const lookEveryMs = 5000;
/** The look itself goes on by itself. */
const lookAgainMs = 250;
/** How long who asks waits for a look that is under way. */
const patienceMs = 5000;

/** Whether stream EVENTS is still the history that this hub had (ADR 16). */
export interface HistoryWatch {
  /** @throws RollcallError HISTORY_LOST, or BUS_UNREACHABLE while nobody has looked since the bus was away */
  whole(): Promise<void>;
  /** In words; undefined: it is whole, as far as anybody has looked. */
  lost(): string | undefined;
  /**
   * Looks now.
   * @returns the newest event; undefined for an empty history
   * @throws RollcallError HISTORY_LOST, BUS_UNREACHABLE
   */
  look(): Promise<HistoryWitness | undefined>;
  /**
   * From then on this is asked for as well, in the place of what was told before: somebody else has seen it.
   * @returns false: it is of another epoch, about which it says nothing
   */
  remember(witness: HistoryWitness): boolean;
  stop(): void;
}

interface Judgement {
  readonly state: HistoryState;
  readonly why: string | undefined;
}

/** Compares the history with what the servers keep beside it, and with what this process saw of it, now and after each reconnect. */
export function watchHistory(
  nc: NatsConnection,
  { epoch, logger }: { epoch: number; logger: Pick<Logger, 'info' | 'warn' | 'error'> },
): HistoryWatch {
  let seen: HistoryWitness | undefined;
  let told: HistoryWitness | undefined;
  let lost: string | undefined;
  let isSure = false;
  let looking: Promise<HistoryWitness | undefined> | undefined;

  function note(why: string | undefined): void {
    if (why !== undefined && why !== lost)
      logger.error({ reason: why }, 'the history is lost or cut: nothing is decided');
    if (why === undefined && lost !== undefined) logger.info({}, 'the history is whole again');
    lost = why;
  }

  async function judgeNow(witnesses: readonly HistoryWitness[]): Promise<Judgement> {
    const state = await historyState(nc, epoch);
    for (const witness of witnesses) {
      const isShort = state.lastSequence < witness.sequence;
      const why = whyLost(witness, state, isShort ? undefined : await digestAt(nc, witness.sequence));
      if (why !== undefined) return { state, why };
    }
    return { state, why: undefined };
  }

  /** A server of several may not have the word yet that what is missing is in an archive. */
  async function judge(witnesses: readonly HistoryWitness[]): Promise<Judgement> {
    const first = await judgeNow(witnesses);
    if (first.why === undefined || missingOf(first.state) === 0 || nc.info?.cluster === undefined)
      return first;
    const read = () => judgeNow(witnesses);
    return notBehind(first.state.lastSequence, read, ({ why }) => why === undefined).catch(() =>
      judgeNow(witnesses),
    );
  }

  async function compare(): Promise<HistoryWitness | undefined> {
    const asked = told;
    const kept = await keptWitness(nc);
    // What was before a restore is behind the hub: whoever restored it began an epoch.
    const witnesses = [seen, asked, kept].filter((one) => one !== undefined && one.epoch >= epoch);
    const { state, why } = await judge(witnesses as HistoryWitness[]);
    if (why !== undefined) {
      note(why);
      throw new RollcallError('HISTORY_LOST', why);
    }
    note(undefined);
    isSure = true;
    const { lastSequence: sequence } = state;
    const digest = sequence === 0 ? undefined : await digestAt(nc, sequence);
    if (digest === undefined) return undefined;
    // While an archiving is under way, gaps of before hide among those that may be.
    const missing = Math.max(missingOf(state), ...witnesses.map((one) => one?.missing ?? 0));
    const newest = { epoch, sequence, digest, missing };
    seen = newest;
    if (told === asked) told = undefined;
    return newest;
  }

  function look(): Promise<HistoryWitness | undefined> {
    looking ??= compare().finally(() => (looking = undefined));
    return looking;
  }

  /** Not knowing is no news. */
  async function lookQuietly(): Promise<void> {
    await look().catch((thrown: unknown) => {
      const err = toRollcallError(thrown);
      if (err.code !== 'HISTORY_LOST') logger.warn({ err }, 'the history could not be looked at');
    });
  }

  async function followConnection(): Promise<void> {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') isSure = false;
      if (type === 'reconnect') void lookQuietly();
    }
  }
  void followConnection();
  const timer = setInterval(() => void lookQuietly(), lookEveryMs);
  timer.unref();

  return {
    look,
    lost: () => lost,
    remember(witness) {
      if (witness.epoch !== epoch) return false;
      told = witness;
      // A look that is under way may have begun without it.
      looking = undefined;
      return true;
    },
    async whole() {
      if (isSure && lost === undefined) return;
      if (lost === undefined) {
        const late = Promise.withResolvers<never>();
        const what = 'nobody has looked at the history since the bus was away';
        const waiting = setTimeout(() => late.reject(new RollcallError('BUS_UNREACHABLE', what)), patienceMs);
        await Promise.race([look(), late.promise]).finally(() => clearTimeout(waiting));
        return;
      }
      throw new RollcallError('HISTORY_LOST', lost);
    },
    stop: () => clearInterval(timer),
  };
}

/** Until the history is the one that it was: the files were put back. Rejects when the signal ends it before. */
export async function untilWhole(history: Pick<HistoryWatch, 'lost'>, signal: AbortSignal): Promise<void> {
  while (history.lost() !== undefined) await delay(lookAgainMs, undefined, { signal });
}

/** @throws RollcallError BUS_UNREACHABLE */
export async function isHistoryWhole(history: Pick<HistoryWatch, 'look'>): Promise<boolean> {
  try {
    await history.look();
    return true;
  } catch (thrown) {
    if (toRollcallError(thrown).code !== 'HISTORY_LOST') throw thrown;
    return false;
  }
}

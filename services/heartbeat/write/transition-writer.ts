import type { EventLog } from '@rollcall/shared/bus';
import { togetherOrEach } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import {
  type ClusterRecord,
  joined,
  type Liveness,
  type LivenessState,
  livenessStateOf,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { FlapSettings } from '../members/flap-rule.ts';
import { knownCluster } from '../members/known-clusters.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import type { KnownCluster, TransitionWish } from '../engine/liveness-signals.ts';
import { membershipOf } from '../members/membership.ts';
import type { Siblings } from './siblings.ts';
import { type LotOutcome, readCluster, writeLot } from './transition-lot.ts';

/** Appends under way: enough to keep the stream busy, few enough that those who wait are written together. */
const lotsAtOnce = 4;
/** An event of a KB each; more in one batch only delay those that wait for its commit. */
const mostTogether = 32;
/** Clusters that are asked about together. */
const questionSize = 500;
/** How long questions are collected before they are asked. */
const collectMs = 20;
const retryAfterMs = 1000;

export interface TransitionWriter {
  write(wish: TransitionWish): void;
  /** Finishes what is being written; what only waits is left to the next start. */
  drain(): Promise<void>;
}

interface WriterOptions {
  readonly engine: LivenessEngine;
  readonly log: EventLog;
  readonly siblings: Pick<Siblings, 'youngest'>;
  /** Whether beats reach this replica. */
  earsWork(): Promise<boolean>;
  readonly clock: HubClock;
  readonly logger: Logger;
  readonly flap: FlapSettings;
  /** @param joinedFrom - of a first beat: the record before it */
  written(transition: WrittenTransition, joinedFrom?: ClusterRecord): void;
  deaf(): void;
}

/** What was stored. */
export interface WrittenTransition {
  readonly clusterId: string;
  readonly state: LivenessState;
  readonly cause: string;
}

/** Silence may be ours alone; a lost connection was heard, and everything else is good news. */
const silences = new Set<TransitionWish['cause']>(['NoBeats', 'StormHeld', 'Unreachable']);

/**
 * Since when it is so, for what was heard meanwhile. What a sibling wrote carries its clock, and by that a beat from before might
 * look like one after: the time of our own wish for the same counts, and for anything else the next beat.
 */
function changedAtMs(wish: TransitionWish, known: KnownCluster): number {
  if (known.state === 'neverSeen') return known.sinceMs;
  return known.state === wish.state ? wish.decidedAtMs : Infinity;
}

const newestOf = ({ lastOf }: ClusterRecord) => lastOf.heartbeat?.sequence;

/** Takes wishes to the stream: checks own ears and siblings where it matters, then writes what changes the record. */
export function createTransitionWriter(options: WriterOptions): TransitionWriter {
  const { engine, log, siblings, clock, logger } = options;
  /** Read from `next` on: shifting a long array costs as much as it is long. */
  const toWrite: TransitionWish[] = [];
  let next = 0;
  const doubtful: TransitionWish[] = [];
  const running = new Set<Promise<void>>();
  /** Where our own event stood before the wish, of wishes that are being written. */
  const basis = new WeakMap<TransitionWish, number | undefined>();
  const lotParts = {
    ...options,
    decidedFrom: (wish: TransitionWish, record: ClusterRecord) => void basis.set(wish, newestOf(record)),
    stillWished,
  };
  /** Settled before they were written: the cluster was heard, and what it is next is another wish. */
  const over = new WeakSet<TransitionWish>();
  let collecting: NodeJS.Timeout | undefined;
  let writing = 0;
  let draining = false;

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }

  function settle({ wish, record, written }: LotOutcome): void {
    if (!written) return settleBy(wish, record, wish.from);
    const { clusterId } = wish;
    const liveness = written.section as Liveness;
    const state = livenessStateOf(liveness);
    const joinedFrom = written.definition === joined ? record : undefined;
    options.written({ clusterId, state, cause: liveness.cause }, joinedFrom);
    engine.settle(wish, { state, sinceMs: wish.decidedAtMs }, clock.monotonicMs());
  }

  /** Behind slow appends and lost races a wish may wait for long, and the cluster be heard meanwhile. */
  function stillWished(wish: TransitionWish): TransitionWish | undefined {
    if (!silences.has(wish.cause)) return wish;
    if (over.has(wish)) return undefined;
    const current = engine.confirm(wish, clock.monotonicMs());
    if (!current) over.add(wish);
    return current;
  }

  async function writeTogether(lot: readonly TransitionWish[]): Promise<void> {
    const wishes = lot.filter((wish) => !over.has(wish));
    for (const outcome of await writeLot(wishes, lotParts)) settle(outcome);
  }

  function write(lot: readonly TransitionWish[]): Promise<void> {
    return togetherOrEach(lot, writeTogether, (some, error) => {
      logger.warn({ err: error, count: some.length }, 'transitions could not be written');
      for (const wish of some) if (!over.has(wish)) settleLater(wish);
    });
  }

  /** @param refused - the state from which the record let nothing follow; asked at once again it would say the same again */
  function settleBy(wish: TransitionWish, record: ClusterRecord, refused?: LivenessState): void {
    const nowMs = clock.monotonicMs();
    const member = membershipOf(record);
    if (!member) return engine.settle(wish, undefined, nowMs);
    const known = knownCluster(wish.clusterId, member, clock);
    if (known.state === refused) engine.retry(wish, nowMs + known.intervalMs);
    else engine.settle(wish, { state: known.state, sinceMs: changedAtMs(wish, known) }, nowMs);
  }

  /** Whether a goodbye was told, by us or a sibling, and another beat since: told again, it would stop the cluster twice. */
  function isGoodbyeOver(wish: TransitionWish, record: ClusterRecord): boolean {
    const isNews = basis.has(wish) && newestOf(record) !== basis.get(wish);
    return isNews && wish.state === 'stopped' && livenessStateOf(membershipOf(record)?.liveness) === 'ready';
  }

  /**
   * What failed may be stored all the same: only the record knows what state the cluster is in now. Judged from the old one, a
   * goodbye that came meanwhile would say nothing new, and the cluster would be shown as ready for ever.
   */
  function settleLater(wish: TransitionWish): void {
    const look = async () => {
      if (draining) return;
      try {
        const record = await readCluster(log, wish.clusterId);
        if (isGoodbyeOver(wish, record)) engine.forgetGoodbye(wish.clusterId);
        settleBy(wish, record);
      } catch {
        settleLater(wish);
      }
    };
    setTimeout(() => track(look()), retryAfterMs).unref();
  }

  /** Who comes first is written at once; who comes while others are being written waits, and all who wait go together. */
  function takeLot(): TransitionWish[] {
    if (draining || writing >= lotsAtOnce) return [];
    const lot: TransitionWish[] = [];
    for (; next < toWrite.length && lot.length < mostTogether; next++) {
      const wish = toWrite[next] as TransitionWish;
      const current = stillWished(wish);
      if (current) lot.push(current);
    }
    if (next < toWrite.length) return lot;
    toWrite.length = 0;
    next = 0;
    return lot;
  }

  function pump(): void {
    for (let lot = takeLot(); lot.length > 0; lot = takeLot()) {
      writing++;
      const work = write(lot).finally(() => {
        writing--;
        pump();
      });
      track(work);
    }
  }

  async function secondOpinion(wishes: readonly TransitionWish[]): Promise<void> {
    const ids = wishes.map((wish) => wish.clusterId);
    try {
      if (!(await options.earsWork())) {
        logger.warn({ count: ids.length }, 'own beats do not come back; nobody is declared silent');
        options.deaf();
      }
      const askedAtMs = clock.monotonicMs();
      for (const [index, ageMs] of (await siblings.youngest(ids)).entries()) {
        const clusterId = ids[index];
        if (clusterId !== undefined && ageMs !== undefined)
          engine.heardElsewhere(clusterId, askedAtMs - ageMs);
      }
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown), count: ids.length }, 'siblings could not be asked');
      for (const wish of wishes) engine.retry(wish, clock.monotonicMs() + retryAfterMs);
      return;
    }
    for (const wish of wishes) {
      const confirmed = engine.confirm(wish, clock.monotonicMs());
      if (confirmed) toWrite.push(confirmed);
    }
    pump();
  }

  function ask(): void {
    collecting = undefined;
    if (draining) return;
    track(secondOpinion(doubtful.splice(0, questionSize)));
    if (doubtful.length > 0) collecting = setTimeout(ask, collectMs);
  }

  return {
    write(wish) {
      if (!silences.has(wish.cause)) {
        toWrite.push(wish);
        pump();
        return;
      }
      doubtful.push(wish);
      collecting ??= setTimeout(ask, collectMs);
    },
    async drain() {
      draining = true;
      clearTimeout(collecting);
      await Promise.allSettled(running);
    },
  };
}

import type { EventLog } from '@rollcall/shared/bus';
import { batchOrEach } from '@rollcall/shared/decisions';
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
import type { KnownCluster, ProposedTransition } from '../engine/liveness-signals.ts';
import { membershipOf } from '../members/membership.ts';
import type { Replicas } from './replicas.ts';
import { type BatchOutcome, readCluster, writeBatch } from './transition-batch.ts';

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
  write(proposal: ProposedTransition): void;
  /** Finishes what is being written; what only waits is left to the next start. */
  drain(): Promise<void>;
}

interface WriterOptions {
  readonly engine: LivenessEngine;
  readonly log: EventLog;
  readonly replicas: Pick<Replicas, 'youngest'>;
  /** Whether heartbeats reach this replica. */
  isReceiving(): Promise<boolean>;
  readonly clock: HubClock;
  readonly logger: Logger;
  readonly flap: FlapSettings;
  /** @param joinedFrom - of a first heartbeat: the record before it */
  written(transition: WrittenTransition, joinedFrom?: ClusterRecord): void;
  notReceiving(): void;
}

/** What was stored. */
export interface WrittenTransition {
  readonly clusterId: string;
  readonly state: LivenessState;
  readonly cause: string;
}

/** Silence may be ours alone; a lost connection was heard, and everything else is good news. */
const silences = new Set<ProposedTransition['cause']>(['NoHeartbeats', 'OutageHeld', 'Unreachable']);

/**
 * Since when it is so, for what was heard meanwhile. What another replica wrote carries its clock, and by that a heartbeat from before might
 * look like one after: the time of our own proposal for the same counts, and for anything else the next heartbeat.
 */
function changedAtMs(proposal: ProposedTransition, known: KnownCluster): number {
  if (known.state === 'neverSeen') return known.sinceMs;
  return known.state === proposal.state ? proposal.decidedAtMs : Infinity;
}

const newestOf = ({ lastOf }: ClusterRecord) => lastOf.heartbeat?.sequence;

/** Takes proposals to the stream: checks that it still receives, and asks the other replicas, where it matters, then writes what changes the record. */
export function createTransitionWriter(options: WriterOptions): TransitionWriter {
  const { engine, log, replicas, clock, logger } = options;
  /** Read from `next` on: shifting a long array costs as much as it is long. */
  const toWrite: ProposedTransition[] = [];
  let next = 0;
  const doubtful: ProposedTransition[] = [];
  const running = new Set<Promise<void>>();
  /** Where our own event stood before the proposal, of proposals that are being written. */
  const basis = new WeakMap<ProposedTransition, number | undefined>();
  const batchParts = {
    ...options,
    decidedFrom: (proposal: ProposedTransition, record: ClusterRecord) =>
      void basis.set(proposal, newestOf(record)),
    stillProposed,
  };
  /** Settled before they were written: the cluster was heard, and what it is next is another proposal. */
  const over = new WeakSet<ProposedTransition>();
  let collecting: NodeJS.Timeout | undefined;
  let writing = 0;
  let draining = false;

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
  }

  function settle({ proposal, record, written }: BatchOutcome): void {
    if (!written) return settleBy(proposal, record, proposal.from);
    const { clusterId } = proposal;
    const liveness = written.section as Liveness;
    const state = livenessStateOf(liveness);
    const joinedFrom = written.definition === joined ? record : undefined;
    options.written({ clusterId, state, cause: liveness.cause }, joinedFrom);
    engine.settle(proposal, { state, sinceMs: proposal.decidedAtMs }, clock.monotonicMs());
  }

  /** Behind slow appends and lost races a proposal may wait for long, and the cluster be heard meanwhile. */
  function stillProposed(proposal: ProposedTransition): ProposedTransition | undefined {
    if (!silences.has(proposal.cause)) return proposal;
    if (over.has(proposal)) return undefined;
    const current = engine.confirm(proposal, clock.monotonicMs());
    if (!current) over.add(proposal);
    return current;
  }

  async function writeTogether(batch: readonly ProposedTransition[]): Promise<void> {
    const proposals = batch.filter((proposal) => !over.has(proposal));
    for (const outcome of await writeBatch(proposals, batchParts)) settle(outcome);
  }

  function write(batch: readonly ProposedTransition[]): Promise<void> {
    return batchOrEach(batch, writeTogether, (some, error) => {
      logger.warn({ err: error, count: some.length }, 'transitions could not be written');
      for (const proposal of some) if (!over.has(proposal)) settleLater(proposal);
    });
  }

  /** @param refused - the state from which the record let nothing follow; asked at once again it would say the same again */
  function settleBy(proposal: ProposedTransition, record: ClusterRecord, refused?: LivenessState): void {
    const nowMs = clock.monotonicMs();
    const member = membershipOf(record);
    if (!member) return engine.settle(proposal, undefined, nowMs);
    const known = knownCluster(proposal.clusterId, member, clock);
    if (known.state === refused) engine.retry(proposal, nowMs + known.intervalMs);
    else engine.settle(proposal, { state: known.state, sinceMs: changedAtMs(proposal, known) }, nowMs);
  }

  /** Whether a goodbye was told, by us or another replica, and another heartbeat since: told again, it would stop the cluster twice. */
  function isGoodbyeOver(proposal: ProposedTransition, record: ClusterRecord): boolean {
    const isNews = basis.has(proposal) && newestOf(record) !== basis.get(proposal);
    return (
      isNews && proposal.state === 'stopped' && livenessStateOf(membershipOf(record)?.liveness) === 'ready'
    );
  }

  /**
   * What failed may be stored all the same: only the record knows what state the cluster is in now. Judged from the old one, a
   * goodbye that came meanwhile would say nothing new, and the cluster would be shown as ready for ever.
   */
  function settleLater(proposal: ProposedTransition): void {
    const look = async () => {
      if (draining) return;
      try {
        const record = await readCluster(log, proposal.clusterId);
        if (isGoodbyeOver(proposal, record)) engine.forgetGoodbye(proposal.clusterId);
        settleBy(proposal, record);
      } catch {
        settleLater(proposal);
      }
    };
    setTimeout(() => track(look()), retryAfterMs).unref();
  }

  /** Who comes first is written at once; who comes while others are being written waits, and all who wait go together. */
  function takeBatch(): ProposedTransition[] {
    if (draining || writing >= lotsAtOnce) return [];
    const batch: ProposedTransition[] = [];
    for (; next < toWrite.length && batch.length < mostTogether; next++) {
      const proposal = toWrite[next] as ProposedTransition;
      const current = stillProposed(proposal);
      if (current) batch.push(current);
    }
    if (next < toWrite.length) return batch;
    toWrite.length = 0;
    next = 0;
    return batch;
  }

  function pump(): void {
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
      writing++;
      const work = write(batch).finally(() => {
        writing--;
        pump();
      });
      track(work);
    }
  }

  async function secondOpinion(proposals: readonly ProposedTransition[]): Promise<void> {
    const ids = proposals.map((proposal) => proposal.clusterId);
    try {
      if (!(await options.isReceiving())) {
        logger.warn({ count: ids.length }, 'own heartbeats do not come back; nobody is declared silent');
        options.notReceiving();
      }
      const askedAtMs = clock.monotonicMs();
      for (const [index, ageMs] of (await replicas.youngest(ids)).entries()) {
        const clusterId = ids[index];
        if (clusterId !== undefined && ageMs !== undefined)
          engine.heardElsewhere(clusterId, askedAtMs - ageMs);
      }
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown), count: ids.length }, 'other replicas could not be asked');
      for (const proposal of proposals) engine.retry(proposal, clock.monotonicMs() + retryAfterMs);
      return;
    }
    for (const proposal of proposals) {
      const confirmed = engine.confirm(proposal, clock.monotonicMs());
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
    write(proposal) {
      if (!silences.has(proposal.cause)) {
        toWrite.push(proposal);
        pump();
        return;
      }
      doubtful.push(proposal);
      collecting ??= setTimeout(ask, collectMs);
    },
    async drain() {
      draining = true;
      clearTimeout(collecting);
      await Promise.allSettled(running);
    },
  };
}

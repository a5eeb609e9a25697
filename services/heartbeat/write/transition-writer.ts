import type { EventLog } from '@rollcall/shared/bus';
import { batchOrEach } from '@rollcall/shared/decisions';
import {
  type ClusterRecord,
  joined,
  type Liveness,
  type LivenessState,
  livenessStateOf,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { ProposedTransition } from '../engine/liveness-signals.ts';
import type { FlapSettings } from '../members/flapping.ts';
import type { ProposalAnswers } from './answer-proposals.ts';
import { RunningWork } from './running-work.ts';
import { type BatchOutcome, writeBatch } from './transition-batch.ts';

/** Appends under way: enough to keep the stream busy, few enough that those who wait are written together. */
const batchesAtOnce = 4;
/** An event of a KB each; more in one batch only delay those that wait for its commit. */
const mostTogether = 32;

export interface TransitionWriter {
  /** Those that come together are written together, as far as they fit. */
  write(proposals: readonly ProposedTransition[]): void;
  /** Finishes what is being written; what only waits is left to the next start. */
  drain(): Promise<void>;
}

export interface WriterOptions {
  readonly log: EventLog;
  readonly clock: HubClock;
  readonly logger: Logger;
  readonly flap: FlapSettings;
  readonly answers: ProposalAnswers;
  /** The proposal as it stands now; undefined: it is over, and its answer is known. */
  confirm(proposal: ProposedTransition): ProposedTransition | undefined;
  /** @param joinedFrom - of a first heartbeat: the record before it */
  written(transition: WrittenTransition, joinedFrom?: ClusterRecord): void;
}

/** What was stored. */
export interface WrittenTransition {
  readonly clusterId: string;
  readonly state: LivenessState;
  readonly cause: string;
}

/** Takes proposals to the stream: writes what changes the record, in batches, and answers them. */
export function createTransitionWriter(options: WriterOptions): TransitionWriter {
  const { log, clock, flap, logger, answers } = options;
  /** Read from `next` on: shifting a long array costs as much as it is long. */
  const toWrite: ProposedTransition[] = [];
  let next = 0;
  /** Settled before they were written: the cluster was heard, and what it is next is another proposal. */
  const over = new WeakSet<ProposedTransition>();
  const running = new RunningWork();
  let writing = 0;
  let isDraining = false;

  /** Behind slow appends and lost races a proposal may wait for long, and the cluster be heard meanwhile. */
  function stillProposed(proposal: ProposedTransition): ProposedTransition | undefined {
    if (over.has(proposal)) return undefined;
    const current = options.confirm(proposal);
    if (!current) over.add(proposal);
    return current;
  }

  function settle({ proposal, record, written }: BatchOutcome): void {
    if (!written) return answers.refused(proposal, record);
    const { clusterId } = proposal;
    const liveness = written.section as Liveness;
    const state = livenessStateOf(liveness);
    const joinedFrom = written.definition === joined ? record : undefined;
    options.written({ clusterId, state, cause: liveness.cause }, joinedFrom);
    answers.written(proposal, state);
  }

  async function writeTogether(batch: readonly ProposedTransition[]): Promise<void> {
    const proposals = batch.filter((proposal) => !over.has(proposal));
    const { decidedFrom } = answers;
    const outcomes = await writeBatch(proposals, { log, clock, flap, decidedFrom, stillProposed });
    for (const outcome of outcomes) settle(outcome);
  }

  function writeOrFail(batch: readonly ProposedTransition[]): Promise<void> {
    return batchOrEach(batch, writeTogether, (some, error) => {
      logger.warn({ err: error, count: some.length }, 'transitions could not be written');
      for (const proposal of some) if (!over.has(proposal)) answers.failed(proposal);
    });
  }

  /** Who comes first is written at once; who comes while others are being written waits, and all who wait go together. */
  function takeBatch(): ProposedTransition[] {
    if (isDraining || writing >= batchesAtOnce) return [];
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
      const work = writeOrFail(batch).finally(() => {
        writing--;
        pump();
      });
      running.track(work);
    }
  }

  return {
    write(proposals) {
      toWrite.push(...proposals);
      pump();
    },
    async drain() {
      isDraining = true;
      await running.settled();
    },
  };
}

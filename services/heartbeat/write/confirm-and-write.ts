import type { LivenessEngine } from '../engine/liveness-engine.ts';
import type { ProposedTransition } from '../engine/liveness-signals.ts';
import { answerProposals } from './answer-proposals.ts';
import { confirmSilence } from './confirm-silence.ts';
import type { Replicas } from './ask-replicas.ts';
import { createTransitionWriter, type WriterOptions } from './transition-writer.ts';

/** Silence may be ours alone; a lost connection was heard, and everything else is good news. */
const silences = new Set<ProposedTransition['cause']>(['NoHeartbeats', 'OutageHeld', 'Unreachable']);

/**
 * Takes what the engine proposes: silence is confirmed first, with the other replicas; then what changes the record is written, and
 * the engine has its answer.
 * @returns ends with what is being confirmed and written
 */
export function coordinateTransitions(
  options: Omit<WriterOptions, 'answers' | 'confirm'> & {
    readonly engine: LivenessEngine;
    readonly replicas: Pick<Replicas, 'youngest'>;
    /** Whether heartbeats reach this replica. */
    isReceiving(): Promise<boolean>;
    notReceiving(): void;
  },
): { drain(): Promise<void> } {
  const { engine, clock } = options;
  const { proposals } = engine;
  const answers = answerProposals(engine, options);
  const writer = createTransitionWriter({
    ...options,
    answers,
    confirm: (proposal) =>
      silences.has(proposal.cause) ? proposals.confirm(proposal, clock.monotonicMs()) : proposal,
  });
  const silence = confirmSilence(engine, { ...options, confirmed: (some) => writer.write(some) });
  proposals.takenBy((proposal) => {
    if (silences.has(proposal.cause)) silence.check(proposal);
    else writer.write([proposal]);
  });
  return {
    async drain() {
      await Promise.all([silence.drain(), writer.drain(), answers.drain()]);
    },
  };
}

import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import type { ProposedTransition } from '../engine/liveness-signals.ts';
import { retryAfterMs } from './answer-proposals.ts';
import type { Replicas } from './ask-replicas.ts';
import { RunningWork } from './running-work.ts';

/** Clusters that are asked about together. */
const questionSize = 500;
/** How long questions are collected before they are asked. */
const collectMs = 20;

export interface SilenceCheck {
  /** Asks about it, together with others. */
  check(proposal: ProposedTransition): void;
  /** Ends with what is being asked; what only waits is left to the next start. */
  drain(): Promise<void>;
}

/**
 * Asks the other replicas, before a cluster is called silent, whether they have heard it, and checks that this one still receives.
 * @param options.confirmed - is given those that hold all the same, together
 */
export function confirmSilence(
  engine: Pick<LivenessEngine, 'proposals' | 'heardElsewhere'>,
  options: {
    replicas: Pick<Replicas, 'youngest'>;
    /** Whether heartbeats reach this replica. */
    isReceiving(): Promise<boolean>;
    clock: HubClock;
    logger: Logger;
    notReceiving(): void;
    confirmed(proposals: readonly ProposedTransition[]): void;
  },
): SilenceCheck {
  const { replicas, clock, logger } = options;
  const { proposals } = engine;
  const doubtful: ProposedTransition[] = [];
  const running = new RunningWork();
  let collecting: NodeJS.Timeout | undefined;
  let isDraining = false;

  async function secondOpinion(asked: readonly ProposedTransition[]): Promise<void> {
    const ids = asked.map((proposal) => proposal.clusterId);
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
      for (const proposal of asked) proposals.retry(proposal, clock.monotonicMs() + retryAfterMs);
      return;
    }
    options.confirmed(asked.flatMap((proposal) => proposals.confirm(proposal, clock.monotonicMs()) ?? []));
  }

  function ask(): void {
    collecting = undefined;
    if (isDraining) return;
    running.track(secondOpinion(doubtful.splice(0, questionSize)));
    if (doubtful.length > 0) collecting = setTimeout(ask, collectMs);
  }

  return {
    check(proposal) {
      doubtful.push(proposal);
      collecting ??= setTimeout(ask, collectMs);
    },
    async drain() {
      isDraining = true;
      clearTimeout(collecting);
      await running.settled();
    },
  };
}

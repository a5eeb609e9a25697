import { setTimeout as delay } from 'node:timers/promises';
import { toRollcallError } from '@rollcall/shared/errors';
import type { AnswerResult } from '@rollcall/shared/protocol/answer';
import type { Logger } from '@rollcall/shared/service';
import type { OnPhase } from './phase.ts';

/** Takes away what installed this agent. Each step may be done twice: a crash in between is followed by another try. */
export interface Uninstall {
  /** All that the agent can do without; the hub is told afterwards. */
  beforeGoodbye(): Promise<void>;
  /** The rest, its keys and its own rights among it: after that there is no agent. */
  afterGoodbye(): Promise<void>;
}

export interface LeavingOptions {
  readonly clusterId: string;
  /** Whether a person in the member wants it to leave; else only the hub can. */
  readonly isWanted: boolean;
  readonly uninstall: Uninstall | undefined;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  /** Something is to be asked now. */
  wake(): void;
}

/** How the agent of a cluster leaves: told by the hub, or because a person here wants it. */
export interface Leaving {
  /** Resolves when the hub has heard that everything was removed, or has said that the cluster has left before. */
  readonly isOver: Promise<void>;
  /** Whether the hub has said so: then nothing else is asked or followed any more. */
  isTold(): boolean;
  /** What is to be asked instead of anything else; undefined while nothing is: the agent stays, or is cleaning up. */
  ask(): { readonly done: boolean } | 'nothing' | undefined;
  /** @returns whether the answer was about leaving */
  follow(result: AnswerResult): boolean;
}

/** A hub that takes the goodbye answers at once; one that is away must not keep what is to be removed. */
const goodbyeMs = 15_000;

export function createLeaving(options: LeavingOptions): Leaving {
  const { clusterId, onPhase, logger, uninstall } = options;
  const over = Promise.withResolvers<void>();
  let state: 'staying' | 'cleaning' | 'cleaned' = 'staying';

  /** What stays is told and no reason to stay oneself: the hub lets nobody in any more. */
  async function cleanUp(): Promise<void> {
    try {
      await uninstall?.beforeGoodbye();
    } catch (thrown) {
      logger.error({ err: toRollcallError(thrown) }, 'not everything could be removed from the member');
    }
  }

  async function leave(message: string, isAwaited: boolean): Promise<void> {
    state = 'cleaning';
    onPhase({ phase: 'leave', message, detail: { clusterId } });
    await cleanUp();
    state = 'cleaned';
    if (!isAwaited) return over.resolve();
    options.wake();
    await delay(goodbyeMs, undefined, { ref: false });
    over.resolve();
  }

  return {
    isOver: over.promise,
    isTold: () => state !== 'staying',
    ask() {
      if (state === 'staying') return options.isWanted ? { done: false } : undefined;
      return state === 'cleaned' ? { done: true } : 'nothing';
    },
    follow(result) {
      const hasLeft = result.kind === 'refused' && result.code === 'CLUSTER_LEFT';
      if (result.kind !== 'leave' && !hasLeft) return false;
      if (state === 'staying') {
        const why =
          result.kind === 'leave' ? `the cluster leaves the hub (${result.reason})` : result.message;
        void leave(`${why}; removing what was installed here`, !hasLeft);
      } else if (state === 'cleaned' && hasLeft) over.resolve();
      return true;
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import type { ReplyResult } from '@rollcall/shared/protocol/reply';
import type { Logger } from '@rollcall/shared/service';
import type { HubLink } from './hub-connection.ts';
import type { OnPhase } from '../protocol/phase.ts';
import { remove, type Uninstall } from '../install/uninstall.ts';

export interface LeaveFlowOptions {
  readonly clusterId: string;
  /** Whether a person in the member wants it to leave; else only the hub can. */
  readonly isWanted: boolean;
  readonly uninstall: Uninstall | undefined;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Something is to be asked now. */
  wake(): void;
}

/** How the agent of a cluster leaves: told by the hub, or because a person here wants it. */
export interface LeaveFlow {
  /** Resolves when the hub has heard that everything was removed, or has said that the cluster has left before. */
  readonly isOver: Promise<void>;
  /** Whether the hub has said so, and its server: then nothing else is asked or followed any more. */
  isTold(): boolean;
  /** Whether the hub has said so; its server may not have. */
  isHeard(): boolean;
  /** What is to be asked instead of anything else; undefined while nothing is: the agent stays, or is cleaning up. */
  ask(): { readonly done: boolean } | 'nothing' | undefined;
  /**
   * A reply alone puts no member out: who has stolen the registrar can sign one. It is obeyed when the server does not let in by
   * member credentials any more, which it does by what the approver has decided (ADR 14).
   * @param role - of the connection that counts
   * @returns whether the reply was about leaving
   */
  follow(result: ReplyResult, role: HubLink['role'] | undefined): boolean;
}

/** A hub that takes the goodbye answers at once; one that is away must not keep what is to be removed. */
const goodbyeMs = 15_000;

export function createLeaveFlow(options: LeaveFlowOptions): LeaveFlow {
  const { clusterId, onPhase, uninstall } = options;
  const over = Promise.withResolvers<void>();
  let state: 'staying' | 'cleaning' | 'cleaned' = 'staying';
  let isHeard = false;

  async function leave(message: string, isAwaited: boolean): Promise<void> {
    state = 'cleaning';
    onPhase({ phase: 'leave', message, detail: { clusterId } });
    if (uninstall) await remove(uninstall, 'beforeGoodbye', options);
    state = 'cleaned';
    if (!isAwaited) return over.resolve();
    options.wake();
    await delay(goodbyeMs, undefined, { ref: false });
    over.resolve();
  }

  return {
    isOver: over.promise,
    isTold: () => state !== 'staying',
    isHeard: () => isHeard,
    ask() {
      if (state === 'staying') return options.isWanted ? { done: false } : undefined;
      return state === 'cleaned' ? { done: true } : 'nothing';
    },
    follow(result, role) {
      const hasLeft = result.kind === 'refused' && result.code === 'CLUSTER_LEFT';
      if (result.kind !== 'leave' && !hasLeft) return false;
      if (state === 'staying' && role === 'member' && !options.isWanted) {
        if (!isHeard)
          options.logger.warn(
            { clusterId },
            'the hub says that this cluster leaves; nothing is removed while its server still lets the agent in',
          );
        isHeard = true;
        return true;
      }
      if (state === 'staying') {
        const why =
          result.kind === 'leave' ? `the cluster leaves the hub (${result.reason})` : result.message;
        void leave(`${why}; removing what was installed here`, !hasLeft);
      } else if (state === 'cleaned' && hasLeft) over.resolve();
      return true;
    },
  };
}

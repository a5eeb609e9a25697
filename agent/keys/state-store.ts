import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@rollcall/shared/service';
import { fullJitterMs } from '../hub/back-off.ts';
import type { AgentState, KeyStore } from './key-store.ts';

/** The agent's state in memory, written behind: a store that is slow or away delays nothing but itself. */
export interface StateStore {
  readonly state: AgentState;
  update(change: (state: AgentState) => AgentState): void;
  /** Resolves once everything so far is in the store, however long that takes; rejects only when stopped before. */
  kept(): Promise<void>;
}

const retryBackOff = { firstMs: 1000, longestMs: 60_000 };

export function createStateStore(
  store: KeyStore,
  options: { state: AgentState; isKept: boolean; logger: Logger; signal: AbortSignal },
): StateStore {
  const { logger, signal } = options;
  let state = options.state;
  let keptState: AgentState | undefined = options.isKept ? state : undefined;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    try {
      for (let failures = 0; keptState !== state;) {
        // What follows from one answer, in several steps, is one write.
        await nextTurn();
        const latest = state;
        try {
          await store.save(latest);
          keptState = latest;
          failures = 0;
        } catch (error) {
          failures++;
          const delayMs = fullJitterMs(retryBackOff, failures, Math.random());
          logger.error({ err: error as Error, delayMs }, 'keys and credentials not kept');
          await delay(delayMs, undefined, { signal });
        }
      }
    } finally {
      // In the very turn in which the loop has ended: who changes the state a turn later begins another write.
      writing = undefined;
    }
  }

  function kept(): Promise<void> {
    if (writing === undefined && keptState !== state) writing = write();
    return writing ?? Promise.resolve();
  }

  return {
    get state() {
      return state;
    },
    update(change) {
      state = change(state);
      // Whoever needs it kept awaits kept(); the loop itself logs and tries again until it is stopped.
      kept().catch(() => undefined);
    },
    kept,
  };
}

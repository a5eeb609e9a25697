import { pino } from 'pino';
import { createKeyRing, newAgentState } from '../keys/own-keys.ts';
import { createStateStore } from '../keys/state-store.ts';
import { createSession } from '../session/session.ts';

/** A session of an agent that nobody knows yet, with keys in memory. */
export function aSession({
  hubId = 'h',
  refusedRetryMs = 1000,
  signal = new AbortController().signal,
}: { hubId?: string; refusedRetryMs?: number; signal?: AbortSignal } = {}) {
  const logger = pino({ level: 'silent' });
  const state = newAgentState({ clusterId: 'c', hubId });
  const store = { place: 'memory', load: async () => undefined, save: async () => undefined };
  const stateStore = createStateStore(store, { state, isKept: true, logger, signal });
  const keys = createKeyRing(() => stateStore.state, store.place);
  const session = createSession({
    clusterId: 'c',
    keys,
    stateStore,
    token: undefined,
    trustDigest: '',
    refusedRetryMs,
    isLeaveWanted: false,
    onPhase: () => undefined,
    logger,
    signal,
  });
  return { session, keys };
}

import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createKeyRing, newAgentState } from '../keys/own-keys.ts';
import { createStateStore } from '../keys/state-store.ts';
import type { HubLink } from './hub-connection.ts';
import { createSession } from './session.ts';
import { stayConnected } from './stay-connected.ts';

afterEach(() => void vi.useRealTimers());

test('whose clock was set back after a refusal comes back in minutes, and not once the clock has come so far again', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const logger = pino({ level: 'silent' });
  const ending = new AbortController();
  const { signal } = ending;
  const state = newAgentState({ clusterId: 'c', hubId: 'h' });
  const store = { place: 'memory', load: async () => undefined, save: async () => undefined };
  const stateStore = createStateStore(store, { state, isKept: true, logger, signal });
  const keys = createKeyRing(() => stateStore.state, store.place);
  const session = createSession({
    clusterId: 'c',
    keys,
    stateStore,
    token: undefined,
    trustDigest: '',
    refusedRetryMs: 50,
    isLeaveWanted: false,
    onPhase: () => undefined,
    logger,
    signal,
  });
  const cuts: (() => void)[] = [];
  const running = stayConnected(session, {
    reconnect: { firstMs: 1, longestMs: 1 },
    adoption: { settled: async () => undefined },
    connector: {
      async best() {
        const { promise: closed, resolve } = Promise.withResolvers<void>();
        cuts.push(resolve);
        const link = { role: 'waiting', key: keys.current(), closed, wasDismissed: () => false } as HubLink;
        return { link, shown: [] };
      },
    },
    async take(link) {
      session.link = link;
      session.dispatch({ kind: 'connected', role: link.role });
    },
  });
  await expect.poll(() => cuts.length).toBe(1);
  const result = { kind: 'refused', code: 'X', message: '', hint: '', retryAfterMs: 50 } as const;
  const reply = { result, atMs: 1 };
  const agentKey = keys.current().publicKey;
  session.dispatch({ kind: 'replied', reply, isToLast: true, agentKey, isOwnKey: true, role: 'waiting' });
  vi.setSystemTime(Date.now() - 28_800_000);
  cuts[0]?.();
  await expect.poll(() => cuts.length, { timeout: 3000 }).toBe(2);
  ending.abort();
  cuts[1]?.();
  await running;
});

import type { Reply, ReplyResult } from '@rollcall/shared/protocol/reply';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createKeyRing, newAgentState } from '../keys/own-keys.ts';
import { createStateStore } from '../keys/state-store.ts';
import type { HubLink } from './hub-connection.ts';
import { createRotation } from './rotation.ts';
import { createSession } from './session.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test.each([undefined, null, 'soon', -1, 1])(
  'a next key that the hub refuses is not asked about without a pause, whatever it says of the time: %j',
  async (retryAfterMs) => {
    const logger = pino({ level: 'silent' });
    const { signal } = new AbortController();
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
      refusedRetryMs: 300_000,
      isLeaveWanted: false,
      onPhase: () => undefined,
      logger,
      signal,
    });
    session.link = { role: 'member', key: keys.current(), isClosed: () => false } as HubLink;
    let sent = 0;
    const send = () => {
      const inReplyTo = `request-${++sent}`;
      const result = { kind: 'refused', code: 'X', message: '', hint: '', retryAfterMs } as ReplyResult;
      const reply: Reply = { v: 1, hub: 'h', to: '', inReplyTo, atMs: 1, result };
      queueMicrotask(() => rotation.hear(reply));
      return inReplyTo;
    };
    const rotation = createRotation(session, {
      sending: { send },
      rotationRequest: undefined,
      requestEveryMs: 1000,
    });
    rotation.begin();
    await vi.advanceTimersByTimeAsync(500);
    await vi.waitFor(() => expect(sent).toBeGreaterThan(0));
    await vi.advanceTimersByTimeAsync(400);
    rotation.stop();
    expect(sent).toBe(1);
  },
);

import { afterEach, expect, test, vi } from 'vitest';
import type { HubLink } from './hub-connection.ts';
import { aSession } from '../tests/a-session.ts';
import { stayConnected } from './stay-connected.ts';

afterEach(() => void vi.useRealTimers());

test('whose clock was set back after a refusal comes back in minutes, and not once the clock has come so far again', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const ending = new AbortController();
  const { signal } = ending;
  const { session, keys } = aSession({ refusedRetryMs: 50, signal });
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

import type { Reply, ReplyResult } from '@rollcall/shared/protocol/reply';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { HubLink } from './hub-connection.ts';
import { createRotation } from './rotation.ts';
import { aSession } from '../tests/a-session.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

test.each([undefined, null, 'soon', -1, 1])(
  'a next key that the hub refuses is not asked about without a pause, whatever it says of the time: %j',
  async (retryAfterMs) => {
    const { session, keys } = aSession({ refusedRetryMs: 300_000 });
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

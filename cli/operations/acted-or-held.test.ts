import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { dataOfOperations } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { actedOrHeld } from './acted-or-held.ts';

/** A hub that shows this one operation as held. */
function hubThatHolds(operation: string, by: string): KubeClient {
  const held = { cluster: 'blue', clusterId: 'c-1', operation, by, digest: 'd' };
  const object = {
    metadata: { name: 'rollcall-operations', uid: 'u1', resourceVersion: '1' },
    data: dataOfOperations({ held: { id: 'b-0123456789', limit: 5, operations: [held] } }),
  };
  const openStream = async () => {
    const stream = new PassThrough();
    stream.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    return Object.assign(stream, { statusCode: 200, setTimeout: () => stream }) as unknown as IncomingMessage;
  };
  return { openStream } as unknown as KubeClient;
}

test.each([
  { name: 'it', operation: 'revoked', by: 'anna', want: 'BULK_HELD' },
  { name: 'a flood of that cluster', operation: 'revoked', by: 'unknown', want: 'acted' },
  { name: 'the deletion of that cluster', operation: 'leaving', by: 'bea', want: 'acted' },
])('a revocation is written, and $name is held → $want', async ({ operation, by, want }) => {
  const on = { clusterId: 'c-1', type: 'revoked', timeoutMs: 60_000 } as const;
  const outcome = actedOrHeld(hubThatHolds(operation, by), on, async (signal) => {
    // By then the list was read, where it matters.
    await delay(100, undefined, { signal }).catch(() => undefined);
    return 'acted';
  });
  expect(await outcome.catch((error: { code: string }) => error.code)).toBe(want);
});

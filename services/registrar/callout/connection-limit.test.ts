import { expect, test } from 'vitest';
import { createConnectionLimit, mostAtOnce } from './connection-limit.ts';

const shown = (nkey: string, host = '192.0.2.1') => ({
  claim: { nkey, sig: '', user: 'U', pass: '', nonce: '', name: '' },
  host,
});
const admit = { kind: 'admit', role: 'token', agentKey: 'U', lifeMs: 120_000 } as const;

test('with one token from one address no more are open at once, and others are not concerned', () => {
  const limit = createConnectionLimit();
  const letIn = (nowMs: number, token = 'T', host = '192.0.2.1') =>
    limit(shown(token, host), admit, nowMs).kind === 'admit';
  for (let one = 0; one < mostAtOnce; one++) expect(letIn(0)).toBe(true);
  expect(limit(shown('T'), admit, 0)).toEqual({ kind: 'refuse', reason: 'TooManyConnections' });
  expect([letIn(0, 'T', '192.0.2.2'), letIn(0, 'another')]).toEqual([true, true]);
  // Each that ended has made room for another one.
  let again = 0;
  for (let nowMs = 0; nowMs <= 120_000; nowMs += 10) again += letIn(nowMs) ? 1 : 0;
  expect(again).toBe(mostAtOnce);
});

test('who is refused takes no place', () => {
  const limit = createConnectionLimit();
  const refuse = { kind: 'refuse', reason: 'UnknownToken' } as const;
  for (let one = 0; one < 2 * mostAtOnce; one++) expect(limit(shown('T'), refuse, 0)).toBe(refuse);
  expect(limit(shown('T'), admit, 0)).toBe(admit);
});

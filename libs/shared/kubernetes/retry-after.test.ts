import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

const answer = (status: number, after?: string) => ({
  status,
  headers: after === undefined ? {} : { 'retry-after': after },
  body: '',
});

test.each([
  [429, '1', 1000],
  [503, '45', 45_000],
  [429, undefined, undefined],
  [429, 'Wed, 21 Oct 2026 07:28:00 GMT', undefined],
  [429, '-1', undefined],
  [200, '1', undefined],
])('%d with Retry-After %j: %j', (status, after, ms) => {
  expect(retryAfterMs(answer(status, after))).toBe(ms);
});

test.each(['10000', '999999999', '1e300'])(
  'no server is left alone for %s s: it may be that of a member, and what is asked of it would wait for years',
  (after) => {
    expect(retryAfterMs(answer(429, after))).toBe(300_000);
  },
);

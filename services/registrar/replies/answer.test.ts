import { expect, test } from 'vitest';
import { refusalResult } from './answer.ts';

test.each([
  { code: 'APPEND_CONFLICT', askAgainMs: 5000 },
  { code: 'BUS_UNREACHABLE', askAgainMs: 5000 },
  { code: 'HUB_FULL', askAgainMs: 5000 },
  { code: 'TOKEN_UNKNOWN', askAgainMs: 300_000 },
] as const)(
  'whoever is refused for $code, the hub’s trouble or its own, asks again after $askAgainMs ms',
  ({ code, askAgainMs }) => {
    expect(refusalResult({ code, message: 'm' })).toMatchObject({ kind: 'refused', code, askAgainMs });
  },
);

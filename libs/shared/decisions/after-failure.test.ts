import { expect, test } from 'vitest';
import { RollcallError } from '@rollcall/shared/errors';
import { afterFailure } from './after-failure.ts';

test.each([
  {
    name: 'API server away, first time',
    code: 'KUBE_UNREACHABLE',
    deliveries: 1,
    want: { kind: 'again', delayMs: 100 },
  },
  {
    name: 'API server away for long',
    code: 'KUBE_UNREACHABLE',
    deliveries: 500,
    want: { kind: 'again', delayMs: 30_000 },
  },
  {
    name: 'an event of a newer version, while a newer replica may come for it',
    code: 'EVENT_VERSION_UNKNOWN',
    deliveries: 4,
    want: { kind: 'again', delayMs: 800 },
  },
  {
    name: 'an event of a newer version that nobody here knows',
    code: 'EVENT_VERSION_UNKNOWN',
    deliveries: 5,
    want: { kind: 'hold', orElseDelayMs: 1600 },
  },
  {
    name: 'garbage',
    code: 'EVENT_INVALID',
    deliveries: 1,
    want: { kind: 'dead-letter', orElseDelayMs: 100 },
  },
  { name: 'a bug, fourth time', code: 'UNEXPECTED', deliveries: 4, want: { kind: 'again', delayMs: 800 } },
  {
    name: 'a bug, fifth time',
    code: 'UNEXPECTED',
    deliveries: 5,
    want: { kind: 'dead-letter', orElseDelayMs: 1600 },
  },
] as const)('$name → $want.kind', ({ code, deliveries, want }) => {
  expect(afterFailure(new RollcallError(code, 'x'), { deliveries, alike: deliveries })).toEqual(want);
});

test('deliveries that waited for something else are no failures: only those alike count, and the back-off goes on', () => {
  const bug = new RollcallError('UNEXPECTED', 'x');
  expect(afterFailure(bug, { deliveries: 500, alike: 1 })).toEqual({ kind: 'again', delayMs: 30_000 });
  const newer = new RollcallError('EVENT_VERSION_UNKNOWN', 'x');
  expect(afterFailure(newer, { deliveries: 500, alike: 4 })).toEqual({ kind: 'again', delayMs: 30_000 });
});

const first = { deliveries: 1, alike: 1 };

test('who says for how long it wants to be left alone is', () => {
  const busy = { code: 'KUBE_API', retry: true, retryAfterMs: 45_000 } as const;
  expect(afterFailure(busy, first)).toEqual({ kind: 'again', delayMs: 45_000 });
  expect(afterFailure({ ...busy, retryAfterMs: 50 }, first)).toEqual({ kind: 'again', delayMs: 100 });
});

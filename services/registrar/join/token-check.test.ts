import fc from 'fast-check';
import type { TokenDeclaration } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { refuseSize, refuseToken, type TokenUse, usesAfter } from './token-check.ts';
import { aDeclaration } from '../../../tests/harness/events.ts';

const nowMs = 1_700_000_000_000;

function aUse(
  declaration: Partial<TokenDeclaration> | undefined,
  overrides: Partial<TokenUse> = {},
): TokenUse {
  return {
    declaration: declaration && aDeclaration(declaration),
    uses: undefined,
    clusterName: 'edge-1',
    clusterId: 'id-1',
    nowMs,
    maxPerDay: 3,
    ...overrides,
  };
}
const used = (count: number) => ({ used: count, lastUsedBy: 'other', lastUsedAtMs: nowMs - 1 });

test.each([
  { name: 'an unknown token', use: aUse(undefined), want: 'TOKEN_UNKNOWN' },
  { name: 'a withdrawn token', use: aUse({ withdrawn: true }), want: 'TOKEN_UNKNOWN' },
  {
    name: 'a token that was removed after its end',
    use: aUse({ withdrawn: true, expiresAtMs: nowMs - 1 }),
    want: 'TOKEN_EXPIRED',
  },
  {
    name: 'a token that is not taken as it stands',
    use: aUse({ withdrawn: true, problem: { reason: 'InvalidSet', message: 'm' } }),
    want: 'TOKEN_UNKNOWN',
  },
  { name: 'a token in its last millisecond', use: aUse({ expiresAtMs: nowMs + 1 }), want: undefined },
  { name: 'a token that ends exactly now', use: aUse({ expiresAtMs: nowMs }), want: 'TOKEN_EXPIRED' },
  { name: 'a token that never ends', use: aUse({ expiresAtMs: undefined }), want: undefined },
  { name: 'its very name', use: aUse({ clusterName: 'edge-1' }), want: undefined },
  { name: 'another name', use: aUse({ clusterName: 'edge-2' }), want: 'TOKEN_NAME_MISMATCH' },
  { name: 'a longer name', use: aUse({ clusterName: 'edge-' }), want: 'TOKEN_NAME_MISMATCH' },
  { name: 'a pattern for it', use: aUse({ clusterName: 'edge-*' }), want: undefined },
  { name: 'a pattern that stands for nothing', use: aUse({ clusterName: 'edge-1*' }), want: undefined },
  { name: 'a pattern in the middle', use: aUse({ clusterName: 'e*-*1' }), want: undefined },
  { name: 'a pattern for one character', use: aUse({ clusterName: 'edge-?' }), want: undefined },
  { name: 'one character for nothing', use: aUse({ clusterName: 'edge-1?' }), want: 'TOKEN_NAME_MISMATCH' },
  { name: 'a pattern that has to try again', use: aUse({ clusterName: '*e-?' }), want: undefined },
  { name: 'halves that overlap', use: aUse({ clusterName: 'edge-1*1' }), want: 'TOKEN_NAME_MISMATCH' },
  { name: 'a dot is a dot', use: aUse({ clusterName: 'edge.1' }), want: 'TOKEN_NAME_MISMATCH' },
  { name: 'a class is no class', use: aUse({ clusterName: '[a-z]*' }), want: 'TOKEN_NAME_MISMATCH' },
  {
    name: 'a letter that regular expressions know',
    use: aUse({ clusterName: 'D*' }),
    want: 'TOKEN_NAME_MISMATCH',
  },
  { name: 'its client id', use: aUse({ clientId: 'id-1' }), want: undefined },
  { name: 'another client id', use: aUse({ clientId: 'id-2' }), want: 'TOKEN_NAME_MISMATCH' },
  { name: 'no use left', use: aUse({ uses: 1 }, { uses: used(1) }), want: 'TOKEN_USED_UP' },
  {
    name: 'as many uses as one day has',
    use: aUse({ uses: 'unlimited' }, { uses: { ...used(9), day: { sinceMs: nowMs - 86_399_999, used: 3 } } }),
    want: 'HUB_BUSY',
  },
  {
    name: 'as many uses as one day has, which is over',
    use: aUse({ uses: 'unlimited' }, { uses: { ...used(9), day: { sinceMs: nowMs - 86_400_000, used: 3 } } }),
    want: undefined,
  },
  {
    name: 'as many uses as one day has, of a day that a clock began a year ahead',
    use: aUse(
      { uses: 'unlimited' },
      { uses: { ...used(9), day: { sinceMs: nowMs + 365 * 86_400_000, used: 3 } } },
    ),
    want: undefined,
  },
  { name: 'one use left', use: aUse({ uses: 2 }, { uses: used(1) }), want: undefined },
  { name: 'unlimited uses', use: aUse({ uses: 'unlimited' }, { uses: used(9999) }), want: undefined },
  {
    name: 'expired before spent',
    use: aUse({ uses: 1, expiresAtMs: nowMs - 1 }, { uses: used(1) }),
    want: 'TOKEN_EXPIRED',
  },
  {
    name: 'somebody else before spent',
    use: aUse({ uses: 1, clusterName: 'x' }, { uses: used(1) }),
    want: 'TOKEN_NAME_MISMATCH',
  },
])('$name → $want', ({ use, want }) => {
  expect(refuseToken(use)?.code).toBe(want);
});

test('a pattern fits whatever stands for its stars', () => {
  const text = fc.stringMatching(/^[a-z0-9-]{0,8}$/);
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 1, maxLength: 6 }),
      fc.array(text, { minLength: 6 }),
      (parts, fill) => {
        const clusterName = parts.map((part, at) => part + (at < parts.length - 1 ? fill[at] : '')).join('');
        expect(refuseToken(aUse({ clusterName: parts.join('*') }, { clusterName }))).toBeUndefined();
      },
    ),
  );
});

test('a pattern made to be slow is answered', () => {
  const clusterName = `${'a'.repeat(62)}b`;
  const use = aUse({ clusterName: `${'*a'.repeat(40)}c` }, { clusterName });
  expect(refuseToken(use)?.code).toBe('TOKEN_NAME_MISMATCH');
});

test('uses are counted by day, from the first one on, and in all', () => {
  const times = [0, 1000, 86_399_999, 86_400_000].map((laterMs) => nowMs + laterMs);
  let uses: TokenUse['uses'];
  const seen = times.map((atMs) => {
    uses = usesAfter(uses, { clusterId: 'id-1', bytes: 100, nowMs: atMs });
    return [uses.used, uses.day?.used, uses.day?.bytes];
  });
  expect(seen).toEqual([
    [1, 1, 100],
    [2, 2, 200],
    [3, 3, 300],
    [4, 1, 100],
  ]);
});

test.each([
  { name: 'the first of a day', uses: undefined, bytes: 1000, want: undefined },
  { name: 'as large as is left', uses: day(600), bytes: 400, want: undefined },
  { name: 'one byte more', uses: day(600), bytes: 401, want: 'HUB_BUSY' },
  { name: 'a day later', uses: day(1000, nowMs - 86_400_000), bytes: 400, want: undefined },
  { name: 'after uses that an earlier version counted', uses: used(3), bytes: 400, want: undefined },
])('the size of requests: $name → $want', ({ uses, bytes, want }) => {
  expect(refuseSize({ name: 't', uses, bytes, maxBytesPerDay: 1000, nowMs })?.code).toBe(want);
});

function day(bytes: number, sinceMs = nowMs - 1000): TokenUse['uses'] {
  return { ...used(3), day: { sinceMs, used: 3, bytes } };
}

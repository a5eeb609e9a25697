import { expect, test } from 'vitest';
import type { TokenDeclaration } from '@rollcall/shared/events';
import { policyInput } from './policy-input.ts';
import { anIdentity, nowMs } from '../tests/builders.ts';

const token = {
  name: 't1',
  namespace: 'rollcall-join',
  uses: 1,
  withdrawn: false,
} as unknown as TokenDeclaration;
const daysLater = nowMs + 3 * 86_400_000;

test.each([
  { name: 'a token without an end', given: token, want: true },
  { name: 'one that ends later', given: { ...token, expiresAtMs: daysLater + 1 }, want: true },
  {
    name: 'one that ended while the request waited',
    given: { ...token, expiresAtMs: daysLater },
    want: false,
  },
  { name: 'one that was taken back since', given: { ...token, withdrawn: true }, want: false },
  { name: 'one from before the hub was restored', given: { ...token, voidSinceEpoch: 2 }, want: false },
  { name: 'no token that is known', given: undefined, want: false },
])('days after the request, token.valid of $name: $want', ({ given, want }) => {
  const context = { token: given, keyChanged: false, nowMs: daysLater };
  expect(policyInput(anIdentity(), context).token['valid']).toBe(want);
});

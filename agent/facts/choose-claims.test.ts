import fc from 'fast-check';
import { expect, test } from 'vitest';
import { factsSchema } from '@rollcall/shared/bus';
import { chooseClaims, type Claim } from './choose-claims.ts';

const aClaim = (name: string, more: Partial<Claim> = {}): Claim => ({
  name,
  value: `of ${name}`,
  isSpokeOnly: false,
  ...more,
});
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => aClaim(`c${String(index).padStart(2, '0')}`));
const choose = (claims: readonly Claim[], properties: readonly Claim[] = []) => {
  const chosen = chooseClaims({ claims, properties });
  return { names: chosen.claims?.map(({ name }) => name), leftOut: chosen.claimsLeftOut, ...chosen };
};

test('a member without claims says nothing of them [OC-7]', () => {
  expect(chooseClaims({ claims: [], properties: [] })).toEqual({});
});

test('a property is told rather than a claim of the same name [OC-7]', () => {
  const { claims } = choose([aClaim('id.k8s.io'), aClaim('b')], [aClaim('id.k8s.io', { value: 'property' })]);
  expect(claims).toEqual([
    { name: 'b', value: 'of b' },
    { name: 'id.k8s.io', value: 'property' },
  ]);
});

test.each([
  { name: 'exactly as many as are told', claims: numbered(20), want: { length: 20, leftOut: undefined } },
  { name: 'one more', claims: numbered(21), want: { length: 20, leftOut: 1 } },
  {
    name: 'reserved names beside them',
    claims: [...numbered(25), aClaim('id.k8s.io'), aClaim('product.open-cluster-management.io')],
    want: { length: 22, leftOut: 5 },
  },
  {
    name: 'too long a value',
    claims: [aClaim('a', { value: undefined }), aClaim('b')],
    want: { length: 1, leftOut: 1 },
  },
  {
    name: 'not meant for the hub',
    claims: [aClaim('a', { isSpokeOnly: true }), aClaim('b')],
    want: { length: 1, leftOut: undefined },
  },
  {
    name: 'no value',
    claims: [aClaim('a', { value: '' }), aClaim('b')],
    want: { length: 1, leftOut: undefined },
  },
])('$name → $want [OC-7]', ({ claims, want }) => {
  const { names = [], leftOut } = choose(claims.toReversed());
  expect({ length: names.length, leftOut }).toEqual(want);
});

test('of too many the first by name are told, the reserved ones always [OC-7]', () => {
  const { names } = choose([aClaim('platform.open-cluster-management.io'), ...numbered(25).toReversed()]);
  expect(names).toEqual([...numbered(20).map(({ name }) => name), 'platform.open-cluster-management.io']);
});

test('whatever they say, they fit into a request, and none is lost without a word [OC-7]', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 512, size: 'max' });
  const value = fc.option(text, { nil: undefined });
  const claim = fc.record({
    name: fc.stringMatching(/^[a-z]{1,8}$/),
    value,
    isSpokeOnly: fc.constant(false),
  });
  fc.assert(
    fc.property(fc.uniqueArray(claim, { selector: ({ name }) => name, maxLength: 40 }), (claims) => {
      const facts = chooseClaims({ claims, properties: [] });
      expect(factsSchema.parse(facts)).toEqual(facts);
      expect((facts.claims?.length ?? 0) + (facts.claimsLeftOut ?? 0)).toBe(claims.length);
      expect(Buffer.byteLength(JSON.stringify(JSON.stringify(facts)))).toBeLessThan(34_000);
    }),
    { numRuns: 10 },
  );
});

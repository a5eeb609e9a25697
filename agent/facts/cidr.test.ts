import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeCidrs } from './cidr.ts';

test.each([
  { name: 'neighbours', given: ['10.0.1.0/24', '10.0.0.0/24'], want: ['10.0.0.0/23'] },
  {
    name: 'neighbours that begin no larger range',
    given: ['10.0.1.0/24', '10.0.2.0/24'],
    want: ['10.0.1.0/24', '10.0.2.0/24'],
  },
  {
    name: 'one in the other, and one twice',
    given: ['10.0.0.0/8', '10.1.0.0/16', '10.0.0.0/8'],
    want: ['10.0.0.0/8'],
  },
  { name: 'bits behind the prefix', given: ['10.0.0.77/24'], want: ['10.0.0.0/24'] },
  { name: 'all there is', given: ['0.0.0.0/1', '128.0.0.0/1'], want: ['0.0.0.0/0'] },
  {
    name: 'both families',
    given: ['fd00:10:244:1::/64', '10.244.0.0/24', 'fd00:10:244::/64', '::ffff:10.0.0.0/128'],
    want: ['10.244.0.0/24', '::ffff:a00:0/128', 'fd00:10:244::/63'],
  },
  {
    name: 'what is none',
    given: ['', '10.0.0.0', '10.0.0.0/33', '10.0.0.0/x', 'fe80::1%eth0/64', 'pods'],
    want: [],
  },
])('$name: $given → $want', ({ given, want }) => {
  expect(mergeCidrs(given)).toEqual(want);
});

const range = fc
  .tuple(fc.nat(255), fc.integer({ min: 24, max: 32 }))
  .map(([last, length]) => `10.0.0.${last}/${length}`);

/** The last bytes of all addresses of ranges within 10.0.0.0/24. */
function addressesOf(cidrs: readonly string[]): number[] {
  const all = cidrs.flatMap((cidr) => {
    const [last = 0, length = 0] = cidr.slice('10.0.0.'.length).split('/').map(Number);
    const size = 2 ** (32 - length);
    return Array.from({ length: size }, (_, index) => Math.floor(last / size) * size + index);
  });
  return [...new Set(all)].toSorted((a, b) => a - b);
}

test('merged ranges hold the same addresses, once each, whatever the order', () => {
  const given = fc.array(range, { maxLength: 12 });
  fc.assert(
    fc.property(
      given.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
      ([all, reordered]) => {
        const merged = mergeCidrs(all);
        expect(addressesOf(merged)).toEqual(addressesOf(all));
        expect(merged.reduce((sum, cidr) => sum + addressesOf([cidr]).length, 0)).toBe(
          addressesOf(all).length,
        );
        expect(mergeCidrs(reordered)).toEqual(merged);
      },
    ),
  );
});

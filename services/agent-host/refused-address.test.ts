import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AddressRules, createAddressJudge } from './refused-address.ts';

const rules: AddressRules = {
  allowLoopback: false,
  hub: [{ host: '10.0.0.5', port: 6443 }],
  refusedRanges: ['10.96.0.0/12', 'fd12:3456::/32'],
};
const judgeOf = (more: Partial<AddressRules> = {}) => {
  const judge = createAddressJudge({ ...rules, ...more });
  return (address: string, port = 6443) => judge.whyRefused(address, port, judge.rules.hub);
};

describe('the hub connects to no member at', () => {
  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.254', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::ffff:7f00:1', 'a loopback address'],
    ['::127.0.0.1', 'a loopback address'],
    ['64:ff9b::7f00:1', 'a loopback address'],
    ['0.0.0.0', 'a link-local, multicast or unspecified address'],
    ['::', 'a link-local, multicast or unspecified address'],
    ['::ffff:0.0.0.0', 'a link-local, multicast or unspecified address'],
    ['169.254.169.254', 'a link-local, multicast or unspecified address'],
    ['::ffff:a9fe:a9fe', 'a link-local, multicast or unspecified address'],
    ['64:ff9b::a9fe:a9fe', 'a link-local, multicast or unspecified address'],
    ['fe80::1', 'a link-local, multicast or unspecified address'],
    ['fe80::1%eth0', 'a link-local, multicast or unspecified address'],
    ['224.0.0.1', 'a link-local, multicast or unspecified address'],
    ['255.255.255.255', 'a link-local, multicast or unspecified address'],
    ['ff02::1', 'a link-local, multicast or unspecified address'],
    ['192.0.0.192', 'a link-local, multicast or unspecified address'],
    ['fd00:ec2::254', 'a metadata address'],
    ['fd00:ec2::23', 'a metadata address'],
    ['fd20:ce::254', 'a metadata address'],
    ['fd20:00ce:0::0254', 'a metadata address'],
    ['fd00:42::42', 'a metadata address'],
    ['100.100.100.200', 'a metadata address'],
    ['168.63.129.16', 'a metadata address'],
    ['2002:7f00:1::', 'an address in a tunnel'],
    ['2001:0:4136:e378::1', 'an address in a tunnel'],
    ['10.96.0.1', 'in a range that this hub does not allow'],
    ['::ffff:10.96.0.1', 'in a range that this hub does not allow'],
    ['fd12:3456::1', 'in a range that this hub does not allow'],
    ['10.0.0.5', 'an address of the hub itself'],
    ['::ffff:10.0.0.5', 'an address of the hub itself'],
    ['', 'no address'],
    ['member.example', 'no address'],
  ])('%s: it is %s', (address, why) => {
    expect(judgeOf()(address)).toBe(why);
  });

  test('another port of the hub either', () => {
    expect(judgeOf()('10.0.0.5', 10_250)).toBe('an address of the hub itself');
  });
});

test.each([
  '192.0.2.1',
  '10.0.0.6',
  '172.16.0.1',
  '192.168.1.1',
  '2001:db8::1',
  'fd00:1::1',
  '::ffff:192.0.2.1',
])('members may be at %s', (address) => {
  expect(judgeOf()(address)).toBeUndefined();
});

test('where loopback is allowed, the hub itself stays out of bounds by its port', () => {
  const why = judgeOf({ allowLoopback: true, hub: [{ host: '127.0.0.1', port: 6443 }] });
  expect(why('127.0.0.1', 7443)).toBeUndefined();
  expect(why('::ffff:127.0.0.1', 7443)).toBeUndefined();
  expect(why('127.0.0.1', 6443)).toBe('an address of the hub itself');
  expect(why('::ffff:127.0.0.1', 6443)).toBe('an address of the hub itself');
  expect(why('169.254.169.254')).toBeDefined();
});

test('however an IPv4 address is carried in an IPv6 one, it is judged the same', () => {
  const why = judgeOf();
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const bytes = address.split('.').map(Number);
      const [a = 0, b = 0, c = 0, d = 0] = bytes;
      const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
      for (const carried of [`::ffff:${address}`, `::ffff:${hex}`, `64:ff9b::${hex}`])
        expect(why(carried)).toBe(why(address));
    }),
  );
});

test('a range that is none is refused at once', () => {
  for (const range of ['10.0.0.0/33', 'x/8', '10.0.0.0/', '::/129'])
    expect(() => createAddressJudge({ ...rules, refusedRanges: [range] })).toThrow(/range|address/i);
});

import { isIPv4, isIPv6 } from 'node:net';
import { type CelObject, fail, type Library } from './library.ts';

const sizes = { 4: 32, 6: 128 } as const;
type Family = keyof typeof sizes;

class IpAddress implements CelObject {
  readonly family: Family;
  readonly bits: bigint;

  constructor(family: Family, bits: bigint) {
    this.family = family;
    this.bits = bits;
  }

  equals(other: IpAddress): boolean {
    return this.family === other.family && this.bits === other.bits;
  }
}

class Cidr implements CelObject {
  readonly address: IpAddress;
  readonly length: number;

  constructor(address: IpAddress, length: number) {
    this.address = address;
    this.length = length;
  }

  equals(other: Cidr): boolean {
    return this.length === other.length && this.address.equals(other.address);
  }
}

function bitsOfIpv4(text: string): bigint {
  return text.split('.').reduce((bits, octet) => bits * 256n + BigInt(octet), 0n);
}

/** Groups of 16 bits; an IPv4 address at the end is two of them. */
function groupsOf(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const bits = bitsOfIpv4(group);
    return [bits >> 16n, bits & 0xffffn];
  });
}

function bitsOfIpv6(text: string): bigint {
  const [before = '', behind] = text.split('::');
  const [head, tail] = [groupsOf(before), groupsOf(behind ?? '')];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0n);
  return [...head, ...zeros, ...tail].reduce((bits, group) => bits * 65_536n + group, 0n);
}

/** An IPv4 address that is written as an IPv6 one is taken by nobody. */
function isMapped(bits: bigint): boolean {
  return bits >> 32n === 0xffffn;
}

function parseIp(text: string): IpAddress | undefined {
  if (isIPv4(text)) return new IpAddress(4, bitsOfIpv4(text));
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const bits = bitsOfIpv6(text);
  return isMapped(bits) ? undefined : new IpAddress(6, bits);
}

function parseCidr(text: string): Cidr | undefined {
  const [, before = '', length = ''] = /^([^/]*)\/(0|[1-9][0-9]{0,2})$/.exec(text) ?? [];
  const address = parseIp(before);
  return address && Number(length) <= sizes[address.family] ? new Cidr(address, Number(length)) : undefined;
}

function ip(text: string): IpAddress {
  return parseIp(text) ?? fail(`"${text}" is no IP address`);
}

function cidr(text: string): Cidr {
  return parseCidr(text) ?? fail(`"${text}" is no network in CIDR notation`);
}

function octetsOf(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.');
}

/** As RFC 5952 writes it: in lower case, with the longest run of zeros left out. */
function ipText({ family, bits }: IpAddress): string {
  if (family === 4) return octetsOf(bits);
  const groups = Array.from({ length: 8 }, (_, index) => (bits >> BigInt(112 - 16 * index)) & 0xffffn);
  const text = groups.map((group) => group.toString(16)).join(':');
  const runs = [...text.matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length);
  if (!longest) return text;
  const [before, behind] = [text.slice(0, longest.index), text.slice(longest.index + longest[0].length)];
  return `${before.replace(/:$/, '')}::${behind.replace(/^:/, '')}`;
}

function cidrText({ address, length }: Cidr): string {
  return `${ipText(address)}/${length}`;
}

function networkOf({ family, bits }: IpAddress, length: number): bigint {
  const host = BigInt(sizes[family] - length);
  return (bits >> host) << host;
}

function contains(network: Cidr, address: IpAddress): boolean {
  const { address: its, length } = network;
  return its.family === address.family && networkOf(its, length) === networkOf(address, length);
}

function containsCidr(network: Cidr, other: Cidr): boolean {
  return network.length <= other.length && contains(network, other.address);
}

/** Whether an address is in one of two networks, by its family. */
function isIn(ipv4: string, ipv6: string): (address: IpAddress) => boolean {
  const networks = { 4: cidr(ipv4), 6: cidr(ipv6) };
  return (address) => contains(networks[address.family], address);
}

const isUnspecified = isIn('0.0.0.0/32', '::/128');
const isLoopback = isIn('127.0.0.0/8', '::1/128');
const isMulticast = isIn('224.0.0.0/4', 'ff00::/8');
const isLinkLocalUnicast = isIn('169.254.0.0/16', 'fe80::/10');
const isBroadcast = isIn('255.255.255.255/32', '::/128');
const isLinkLocalMulticastIpv4 = isIn('224.0.0.0/24', 'ff02::/16');

/** In IPv6 the second half of the second octet says how far an address reaches; what is before it does not count. */
function isLinkLocalMulticast(address: IpAddress): boolean {
  if (address.family === 4) return isLinkLocalMulticastIpv4(address);
  return isMulticast(address) && ((address.bits >> 112n) & 15n) === 2n;
}

function isGlobalUnicast(address: IpAddress): boolean {
  return ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast, isBroadcast].some((is) => is(address));
}

const [ipType, cidrType] = ['net.IP', 'net.CIDR'];

/** What texts the addresses and networks are: used by `string` too. */
export const ipTexts: Library['functions'] = {
  [`string(${ipType}): string`]: ipText,
  [`string(${cidrType}): string`]: cidrText,
};

export const ipAndCidrLibrary: Library = {
  types: { [ipType]: IpAddress, [cidrType]: Cidr },
  operators: {
    [`${ipType} == ${ipType}`]: (a: IpAddress, b: IpAddress) => a.equals(b),
    [`${cidrType} == ${cidrType}`]: (a: Cidr, b: Cidr) => a.equals(b),
  },
  functions: {
    [`ip(string): ${ipType}`]: ip,
    'isIP(string): bool': (text: string) => parseIp(text) !== undefined,
    [`${ipType}.family(): int`]: ({ family }: IpAddress) => BigInt(family),
    [`${ipType}.isUnspecified(): bool`]: isUnspecified,
    [`${ipType}.isLoopback(): bool`]: isLoopback,
    [`${ipType}.isLinkLocalMulticast(): bool`]: isLinkLocalMulticast,
    [`${ipType}.isLinkLocalUnicast(): bool`]: isLinkLocalUnicast,
    [`${ipType}.isGlobalUnicast(): bool`]: isGlobalUnicast,
    [`cidr(string): ${cidrType}`]: cidr,
    'isCIDR(string): bool': (text: string) => parseCidr(text) !== undefined,
    [`${cidrType}.containsIP(${ipType}): bool`]: contains,
    [`${cidrType}.containsIP(string): bool`]: (network: Cidr, text: string) => contains(network, ip(text)),
    [`${cidrType}.containsCIDR(${cidrType}): bool`]: containsCidr,
    [`${cidrType}.containsCIDR(string): bool`]: (network: Cidr, text: string) =>
      containsCidr(network, cidr(text)),
    [`${cidrType}.ip(): ${ipType}`]: ({ address }: Cidr) => address,
    [`${cidrType}.masked(): ${cidrType}`]: ({ address, length }: Cidr) =>
      new Cidr(new IpAddress(address.family, networkOf(address, length)), length),
    [`${cidrType}.prefixLength(): int`]: ({ length }: Cidr) => BigInt(length),
  },
  namespaces: { ip: { 'isCanonical(string): bool': (text: string) => ipText(ip(text)) === text } },
};

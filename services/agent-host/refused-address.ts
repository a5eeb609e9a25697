import { BlockList, isIP } from 'node:net';

/** Where members must not be, beside what is refused everywhere. */
export interface AddressRules {
  /** For hubs on a developer's machine, whose members are there as well. */
  readonly allowLoopback: boolean;
  /** The hub's own API server and bus: names or addresses, each with its port. */
  readonly hub: readonly Endpoint[];
  /** What else is out of bounds here, `10.96.0.0/12` for example: the hub cluster's own pods and Services. */
  readonly refusedRanges: readonly string[];
}

export interface Endpoint {
  /** A name in lower case or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** The host of an address without the brackets of IPv6 and the dot at the end of a whole name. */
export function endpointOf(url: URL, defaultPort: number): Endpoint {
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return { host, port: url.port === '' ? defaultPort : Number(url.port) };
}

const loopback = ['127.0.0.0/8', '::1/128'];
/** What stands for this very host, for whoever is on the same link, or for many at once. */
const never = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];
/** Where clouds tell a machine its own credentials, as far as that is not link-local (AWS and the agent of EKS, Google and Scaleway by IPv6, Alibaba, Azure). */
const metadata = [
  'fd00:ec2::254/128',
  'fd00:ec2::23/128',
  'fd20:ce::254/128',
  'fd00:42::42/128',
  '100.100.100.200/32',
  '168.63.129.16/32',
];
/** IPv6 addresses that carry an IPv4 one in their last four bytes: mapped, NAT64, and the deprecated IPv4-compatible ones. */
const carriers = blockList(['::ffff:0:0/96', '64:ff9b::/96', '::/96']);
/** Tunnels whose other end an attacker chooses: 6to4, Teredo, and NAT64 prefixes of somebody's own. */
const tunnels = blockList(['2002::/16', '2001::/32', '64:ff9b:1::/48']);

/** @throws RangeError, TypeError for what is no range */
export function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, prefix === '' ? NaN : Number(prefix), family);
  }
  return list;
}

const loopbackList = blockList(loopback);
const neverList = blockList(never);
const metadataList = blockList(metadata);

const isIn = (list: BlockList, address: string) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** In its one shortest form, by the parser that every URL goes through. */
const shortest = (address: string) => new URL(`https://[${address}]`).hostname.slice(1, -1);

function lastFourBytes(shortAddress: string): string {
  const [high = 0, low = 0] = shortAddress
    .split(':')
    .slice(-2)
    .map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** An IPv4 address that is written as an IPv6 one is judged as what it is. */
function plain(address: string): string {
  if (isIP(address) !== 6) return address;
  const short = shortest(address.split('%')[0] ?? '');
  // Loopback and the unspecified address are among the compatible ones, and are no IPv4 addresses.
  const isCarrier = short !== '::1' && short !== '::' && isIn(carriers, short);
  return isCarrier ? lastFourBytes(short) : short;
}

export interface AddressJudge {
  readonly rules: AddressRules;
  /**
   * Why the hub must not connect to an address, in words that follow "is"; undefined where it may.
   * @param hubAddresses - where the hub is, by address: names are resolved by whoever asks
   */
  whyRefused(address: string, port: number, hubAddresses: readonly Endpoint[]): string | undefined;
}

/** Judges addresses for one set of rules; made once, because lists are. */
export function createAddressJudge(rules: AddressRules): AddressJudge {
  const refused = blockList(rules.refusedRanges);
  return {
    rules,
    whyRefused(given, port, hubAddresses) {
      if (isIP(given) === 0) return 'no address';
      const address = plain(given);
      const isLoopback = isIn(loopbackList, address);
      if (isIn(metadataList, address)) return 'a metadata address';
      if (isIn(neverList, address)) return 'a link-local, multicast or unspecified address';
      if (isIn(tunnels, address)) return 'an address in a tunnel';
      if (isIn(refused, address)) return 'in a range that this hub does not allow';
      if (isLoopback && !rules.allowLoopback) return 'a loopback address';
      // On a developer's machine the hub and its members share the address, and only the ports tell them apart.
      const isHub = hubAddresses.some(
        (hub) => plain(hub.host) === address && (!isLoopback || hub.port === port),
      );
      return isHub ? 'an address of the hub itself' : undefined;
    },
  };
}

import { isIP } from 'node:net';

/** A range of addresses: its first one as a number, and how many leading bits all of them share. */
interface Range {
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly length: number;
}

function ipv4Number(text: string): bigint {
  return text.split('.').reduce((number, part) => number * 256n + BigInt(part), 0n);
}

function ipv6Number(text: string): bigint {
  // The URL parser writes an address that ends like an IPv4 one in hexadecimal, too.
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [head, tail ?? ''].map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - (before?.length ?? 0) - (after?.length ?? 0) }, () => '0');
  const groups = [...(before ?? []), ...zeros, ...(after ?? [])];
  return groups.reduce((number, group) => number * 65_536n + BigInt(`0x${group}`), 0n);
}

function parseRange(text: string): Range | undefined {
  const [address = '', lengthText = ''] = text.split('/');
  const version = address.includes('%') ? 0 : isIP(address);
  const bits = version === 4 ? 32 : 128;
  if (version === 0 || !/^\d{1,3}$/.test(lengthText) || Number(lengthText) > bits) return undefined;
  const length = Number(lengthText);
  const free = BigInt(bits - length);
  const number = version === 4 ? ipv4Number(address) : ipv6Number(address);
  return { bits, first: (number >> free) << free, length };
}

function rangeText({ bits, first, length }: Range): string {
  const digits = (size: number, count: number) =>
    Array.from(
      { length: count },
      (_, index) => (first >> BigInt(size * (count - 1 - index))) % (1n << BigInt(size)),
    );
  if (bits === 32) return `${digits(8, 4).join('.')}/${length}`;
  const groups = digits(16, 8).map((group) => group.toString(16));
  return `${new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)}/${length}`;
}

const lastOf = ({ bits, first, length }: Range) => first + (1n << BigInt(bits - length)) - 1n;

/** The range that two neighbours of the same size make together, where they make one. */
function together(low: Range, high: Range): Range | undefined {
  const { bits, first, length } = low;
  if (high.bits !== bits || high.length !== length || length === 0 || high.first !== lastOf(low) + 1n)
    return undefined;
  const whole = { bits, first, length: length - 1 };
  return (first >> BigInt(bits - length)) % 2n === 0n ? whole : undefined;
}

/**
 * The fewest ranges that hold the same addresses, IPv4 first: nodes have a small one each, and a cluster one that they are cut from.
 * What is no CIDR is left out.
 */
export function mergeCidrs(texts: Iterable<string>): string[] {
  const ranges = [...new Set(texts)].flatMap((text) => parseRange(text) ?? []);
  ranges.sort(
    (a, b) => a.bits - b.bits || (a.first < b.first ? -1 : a.first > b.first ? 1 : a.length - b.length),
  );
  const merged: Range[] = [];
  for (const range of ranges) {
    const before = merged.at(-1);
    if (before?.bits === range.bits && range.first <= lastOf(before)) continue;
    let next = range;
    for (let low = merged.at(-1); low !== undefined; low = merged.at(-1)) {
      const whole = together(low, next);
      if (!whole) break;
      merged.pop();
      next = whole;
    }
    merged.push(next);
  }
  return merged.map(rangeText);
}

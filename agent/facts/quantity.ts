const binary = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
} as const;
const decimal = {
  k: 10n ** 3n,
  M: 10n ** 6n,
  G: 10n ** 9n,
  T: 10n ** 12n,
  P: 10n ** 15n,
  E: 10n ** 18n,
} as const;
const factors: Readonly<Record<string, bigint>> = { '': 1n, ...binary, ...decimal };
const shape = /^(\d+)(?:\.(\d+))?(m|[KMGTPE]i|[kMGTPE])?$/;

/** Far more than any has; to reckon with one of millions of digits takes seconds. */
const longestQuantity = 64;

/** A Kubernetes quantity in thousandths (`1500m` → 1500n); undefined for what is none. Smaller fractions are cut. */
export function parseQuantity(text: string): bigint | undefined {
  if (text.length > longestQuantity) return undefined;
  const [, whole, fraction = '', suffix = ''] = shape.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const thousandths = suffix === 'm' ? 1n : 1000n * (factors[suffix] ?? 1n);
  return (BigInt(whole + fraction) * thousandths) / 10n ** BigInt(fraction.length);
}

/** The shortest exact way to write it; bytes in Ki, as kubelets report them. */
export function formatQuantity(thousandths: bigint, isBytes: boolean): string {
  if (thousandths % 1000n !== 0n) return `${thousandths}m`;
  const units = thousandths / 1000n;
  return isBytes && units > 0n && units % 1024n === 0n ? `${units / 1024n}Ki` : String(units);
}

/** The hub takes no longer ones (`factsSchema`). */
const longestName = 63;
const longestAmount = 32;

/** Adds resource lists (`{cpu: '4', memory: '16Gi'}`) by name; what is no quantity is left out. The same list many times costs little. */
export function sumResources(lists: Iterable<Readonly<Record<string, string>>>): Record<string, string> {
  const times = new Map<Readonly<Record<string, string>>, bigint>();
  for (const list of lists) times.set(list, (times.get(list) ?? 0n) + 1n);
  const sums = new Map<string, bigint>();
  for (const [list, count] of times) {
    for (const [name, text] of Object.entries(list)) {
      const amount = name.length > longestName ? undefined : parseQuantity(text);
      if (amount !== undefined) sums.set(name, (sums.get(name) ?? 0n) + amount * count);
    }
  }
  return Object.fromEntries(
    [...sums]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, amount]) => [name, formatQuantity(amount, /memory|storage|hugepages/.test(name))] as const)
      .filter(([, text]) => text.length <= longestAmount),
  );
}

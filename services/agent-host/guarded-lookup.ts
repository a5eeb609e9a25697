import { type LookupAddress, type LookupOptions } from 'node:dns';
import { lookup as resolve } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { AddressJudge, Endpoint } from './refused-address.ts';

/** Code of the error that a connection ends with whose address is refused. */
export const addressRefused = 'EADDRESSREFUSED';

type Resolve = (name: string, options: LookupOptions) => Promise<LookupAddress[]>;
const byTheSystem: Resolve = (name, options) => resolve(name, { ...options, all: true });

/** Names of the hub do not move often, and members connect by the hundred. */
const hubNamesKeptMs = 60_000;

/**
 * Finds the addresses of members' API servers, and judges each at the moment when a connection is made to it: a name that
 * meant something harmless when it was read may mean the hub's own network a second later.
 * @param options.resolve - how names are found; default: as the system does
 */
export function createCautiousLookup(
  judge: AddressJudge,
  options: { resolve?: Resolve; nowMs?: () => number } = {},
): (port: number) => LookupFunction {
  const { resolve: find = byTheSystem, nowMs = () => performance.now() } = options;
  let hub: { addresses: Promise<readonly Endpoint[]>; readAtMs: number } | undefined;

  async function addressesOf(endpoint: Endpoint): Promise<readonly Endpoint[]> {
    if (isIP(endpoint.host) !== 0) return [endpoint];
    const found = await find(endpoint.host, { all: true });
    return found.map(({ address }) => ({ host: address, port: endpoint.port }));
  }

  /** A name of the hub that cannot be found now keeps nobody from being judged by the others. */
  async function readHub(): Promise<readonly Endpoint[]> {
    const found = await Promise.allSettled(judge.rules.hub.map(addressesOf));
    return found.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
  }

  function hubAddresses(): Promise<readonly Endpoint[]> {
    if (hub === undefined || nowMs() - hub.readAtMs > hubNamesKeptMs)
      hub = { addresses: readHub(), readAtMs: nowMs() };
    return hub.addresses;
  }

  /** All or nothing: of several addresses the system may try any. */
  async function judged(name: string, port: number, how: LookupOptions): Promise<LookupAddress[]> {
    const [found, ofHub] = await Promise.all([find(name, { ...how, all: true }), hubAddresses()]);
    const why = found.map(({ address }) => judge.whyRefused(address, port, ofHub)).find(Boolean);
    if (why === undefined && found.length > 0) return found;
    throw Object.assign(new Error(`its address is ${why ?? 'not known'}`), { code: addressRefused });
  }

  async function answer(to: Parameters<LookupFunction>, port: number): Promise<void> {
    const [name, how, done] = to;
    try {
      const found = await judged(name, port, how);
      if (how.all) done(null, found);
      else done(null, found[0]?.address ?? '', found[0]?.family);
    } catch (error) {
      done(error as NodeJS.ErrnoException, '');
    }
  }

  return (port) =>
    (...to) =>
      void answer(to, port);
}

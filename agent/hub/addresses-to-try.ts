import { formatHubAddress, type HubAddress, parseHubAddress } from './hub-address.ts';

/** More than any hub has; whoever tells more is not one. */
const mostAddresses = 16;
const longestAddress = 300;

/** What the hub has told of where it is to be reached; undefined for what is no list of addresses. */
export function toldAddresses(texts: unknown): readonly HubAddress[] | undefined {
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > mostAddresses) return undefined;
  try {
    return (texts as unknown[]).map((text) => {
      if (typeof text !== 'string' || text.length > longestAddress) throw new TypeError('no address');
      return parseHubAddress(text);
    });
  } catch {
    return undefined;
  }
}

/** Of those that were told, in their order: the ones at which the hub was found. */
export function reachedAddresses(told: readonly HubAddress[], reached: readonly string[]): readonly string[] {
  return told.map(formatHubAddress).filter((name) => reached.includes(name));
}

/**
 * The addresses of the hub, in groups: all of one are tried before the next.
 *
 * What the hub told, and where it was found since, comes before what the agent was started with: an address that it was given may have
 * gone since. Neither is forgotten for the other, so that a list with a mistake, or from a thief, cuts nobody off. Last come those
 * where nobody has found the hub yet, and those of a kind (NATS, WebSocket) that the agent was never given: its network may not let
 * them out.
 */
export function addressesToTry(
  given: readonly HubAddress[],
  told: readonly HubAddress[],
  reached: readonly string[] = [],
): readonly (readonly HubAddress[])[] {
  const kinds = new Set(given.map(({ isWebSocket }) => isWebSocket));
  const first = told.filter(
    (address) => kinds.has(address.isWebSocket) && reached.includes(formatHubAddress(address)),
  );
  const firstNames = new Set(first.map(formatHubAddress));
  const before = new Set([...firstNames, ...given.map(formatHubAddress)]);
  return [
    first,
    given.filter((address) => !firstNames.has(formatHubAddress(address))),
    told.filter((address) => !before.has(formatHubAddress(address))),
  ];
}

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

/**
 * The addresses of the hub, in groups: all of one are tried before the next.
 *
 * What the hub told comes before what the agent was started with: an address that it was given may have gone since. Neither is
 * forgotten for the other, so that a list with a mistake cuts nobody off. Last come those of a kind (NATS, WebSocket) that the agent
 * was never given: its network may not let them out.
 */
export function addressesToTry(
  given: readonly HubAddress[],
  told: readonly HubAddress[],
): readonly (readonly HubAddress[])[] {
  const kinds = new Set(given.map(({ isWebSocket }) => isWebSocket));
  const names = new Set(told.map(formatHubAddress));
  return [
    told.filter(({ isWebSocket }) => kinds.has(isWebSocket)),
    given.filter((address) => !names.has(formatHubAddress(address))),
    told.filter(({ isWebSocket }) => !kinds.has(isWebSocket)),
  ];
}

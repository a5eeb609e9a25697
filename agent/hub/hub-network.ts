import { isIP } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';
import type { Proxy } from './proxy-url.ts';

/**
 * How the hub is reached from here, where its addresses alone do not do. Nothing of it is trusted: whatever it leads to, the
 * certificate there has to be for the name in the hub's address, and by the hub's CA.
 */
export interface HubNetwork {
  /** IP addresses of names that no DNS here knows; names in lower case. */
  readonly hostAliases?: Readonly<Record<string, string>>;
  /** Through which the hub is reached, but for what `noProxy` names (proxy-choice.ts). */
  readonly proxy?: Proxy | undefined;
  readonly noProxy?: readonly string[];
  /** The CA of a proxy that is spoken to over TLS. Default: the public ones. */
  readonly proxyCaPem?: string | undefined;
}

/**
 * Reads `NAME=IP`, any number of them.
 * @throws RollcallError CONFIG_INVALID
 */
export function parseHostAliases(texts: readonly string[]): Record<string, string> {
  const aliases: Record<string, string> = {};
  for (const text of texts) {
    const [, name = '', ip = ''] = /^([A-Za-z0-9.-]+)=(\S+)$/.exec(text.trim()) ?? [];
    if (name === '' || isIP(name) !== 0 || isIP(ip) === 0) {
      throw new RollcallError('CONFIG_INVALID', `"${text}" is no host alias; write NAME=IP`);
    }
    aliases[name.toLowerCase()] = ip;
  }
  return aliases;
}

/** What to connect to for a host: its alias, else itself. */
export function aliasedHost(host: string, { hostAliases = {} }: HubNetwork): string {
  const name = host.toLowerCase();
  return Object.hasOwn(hostAliases, name) ? (hostAliases[name] ?? host) : host;
}

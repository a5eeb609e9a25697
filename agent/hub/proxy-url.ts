import { BlockList, isIP } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';
import { type HubAddress, hostAndPort } from './hub-address.ts';

/** An HTTP proxy that passes connections on (CONNECT). It is trusted with nothing: what goes through it is TLS with the hub. */
export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** Whether the proxy itself is spoken to over TLS. */
  readonly isTls: boolean;
  /** The header `Proxy-Authorization`. A secret. */
  readonly authorization?: string;
}

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Reads `http://HOST:PORT` or `https://HOST:PORT`, with or without `USER:PASSWORD@`; `HOST:PORT` alone is http.
 * @throws RollcallError CONFIG_INVALID, without the text: it may hold a password
 */
export function parseProxy(text: string): Proxy {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text.trim()) ? text.trim() : `http://${text.trim()}`);
  const defaultPort = url === null ? undefined : defaultPorts[url.protocol];
  if (
    url === null ||
    defaultPort === undefined ||
    url.hostname === '' ||
    url.pathname.length > 1 ||
    url.search
  ) {
    throw new RollcallError(
      'CONFIG_INVALID',
      'the proxy is none that can be used; write http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ before HOST where it asks for them',
    );
  }
  const { username, password } = url;
  const given = [username, password].map(decoded).join(':');
  return {
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? defaultPort : Number(url.port),
    isTls: url.protocol === 'https:',
    ...(username === '' ? {} : { authorization: `Basic ${Buffer.from(given).toString('base64')}` }),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** For people: without what it asks for. */
export function proxyName({ host, port, isTls }: Pick<Proxy, 'host' | 'port' | 'isTls'>): string {
  return `${isTls ? 'https' : 'http'}://${hostAndPort({ host, port })}`;
}

/**
 * Whether an address is reached without the proxy. As Go reads NO_PROXY: `*`, a name and all below it, `.name` and only what is
 * below it, an IP address or a range of them, each with or without `:PORT`.
 */
export function isExcepted({ host, port }: HubAddress, patterns: readonly string[]): boolean {
  const name = host.toLowerCase();
  return patterns.some((pattern) => {
    const wanted = readPattern(pattern.trim().toLowerCase());
    if (wanted.port !== undefined && wanted.port !== port) return false;
    return wanted.host === '*' || isInRange(name, wanted.host) || isBelow(name, wanted.host);
  });
}

/** An IPv6 address has colons of its own, and with a port it stands in brackets. */
function readPattern(text: string): { host: string; port: number | undefined } {
  const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  return { host: bracketed ?? plain ?? text, port: port === undefined ? undefined : Number(port) };
}

function isBelow(name: string, wanted: string): boolean {
  const domain = wanted.replace(/^\*/, '');
  if (domain.startsWith('.')) return name.endsWith(domain);
  return domain !== '' && (name === domain || name.endsWith(`.${domain}`));
}

function isInRange(ip: string, wanted: string): boolean {
  const version = isIP(ip);
  const [network = '', prefix] = wanted.split('/');
  if (version === 0 || isIP(network) !== version) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const range = new BlockList();
  const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix);
  if (!Number.isInteger(bits) || bits < 0 || bits > (version === 4 ? 32 : 128)) return false;
  range.addSubnet(network, bits, family);
  return range.check(ip, family);
}

import { RollcallError } from '@rollcall/shared/errors';

export interface HubAddress {
  readonly host: string;
  readonly port: number;
  /** NATS over WebSocket, for networks that let out nothing but HTTPS. */
  readonly isWebSocket?: true;
}

const defaultPort = 4222;
const webSocketPort = 443;

/**
 * Reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`, with or without `tls://` or `nats://`; with `wss://` it is over WebSocket.
 * @throws RollcallError CONFIG_INVALID
 */
export function parseHubAddress(text: string): HubAddress {
  const [, scheme, rest = ''] = /^(?:(tls|nats|wss):\/\/)?(.*)$/s.exec(text.trim()) ?? [];
  const isWebSocket = scheme === 'wss';
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(
      isWebSocket ? rest.replace(/\/$/, '') : rest,
    ) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? (isWebSocket ? webSocketPort : defaultPort) : Number(port);
  if (host === undefined || number < 1 || number > 65_535) {
    throw new RollcallError(
      'CONFIG_INVALID',
      `"${text}" is no address of a hub; write HOST:PORT or wss://HOST`,
    );
  }
  return { host, port: number, ...(isWebSocket ? { isWebSocket } : {}) };
}

export function hostAndPort({ host, port }: Pick<HubAddress, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** As parseHubAddress reads it, and people write it. */
export function formatHubAddress(address: HubAddress): string {
  return `${address.isWebSocket ? 'wss://' : ''}${hostAndPort(address)}`;
}

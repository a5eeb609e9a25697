import { RollcallError } from '@rollcall/shared/errors';

export interface HubAddress {
  readonly host: string;
  readonly port: number;
}

const defaultPort = 4222;

/**
 * Reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`, with or without `tls://` or `nats://`.
 * @throws RollcallError CONFIG_INVALID
 */
export function parseHubAddress(text: string): HubAddress {
  const rest = text.trim().replace(/^(tls|nats):\/\//, '');
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/.exec(rest) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) {
    throw new RollcallError('CONFIG_INVALID', `"${text}" is no address of a hub; write HOST:PORT`);
  }
  return { host, port: number };
}

/** As nats.js takes it. */
export function formatHubAddress({ host, port }: HubAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

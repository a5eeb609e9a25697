import { isIP } from 'node:net';
import { join } from 'node:path';
import { formatHubAddress, parseHubAddress } from '@rollcall/agent';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { loopbackPorts } from './loopback-ports.ts';
import { readState } from './private-files.ts';
import { natsServerNames } from './state/nats-servers-of.ts';

/** Where the hub of a state directory is reached. */
export interface HubAddresses {
  /** Of the first NATS server. */
  readonly port: number;
  /** One a server, or none. */
  readonly websocketPorts: readonly number[];
  /** Host names and IP addresses that agents use; they go into the certificate. */
  readonly hosts: readonly string[];
  /** Loopback, or everywhere: only what is advertised to others is opened to others. */
  readonly listenHost: string;
  /** What agents are told, of a hub whose NATS servers listen at these. */
  forAgents(natsServers: readonly string[]): string[];
}

/** What the caller asks for; the rest is as it was at the start before. */
export interface AddressOptions {
  /** Of the NATS server; remembered, so that tokens that were handed out stay true. Default 4222; 0: any free one. */
  readonly port?: number;
  /** `host:port` that agents are told to use, several for one hub. Default: the loopback address. */
  readonly advertise?: readonly string[];
  /** `host:port` where agents also reach the hub over WebSocket; port 0: any free one, remembered. Default: nowhere. */
  readonly websocket?: string | undefined;
}

const defaultPort = 4222;

/** Of `HOST`, `HOST:PORT` or `[IPV6]:PORT`; the port may be 0, any that is free. */
function hostOf(address: string): string {
  const host = address.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
  if (host === '') throw new RollcallError('CONFIG_INVALID', `"${address}" is no HOST:PORT to advertise`);
  return host;
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Where agents were told to reach the hub (`rollcall trust addresses`). */
function toldByOperator(stateDir: string): readonly string[] {
  const path = join(stateDir, 'identities', 'registrar.json');
  return readState<{ hubAddresses?: readonly string[] }>(path)?.hubAddresses ?? [];
}

/** The ports of the servers that agents reach over WebSocket, in the order of their names; none where nobody asked for it. */
async function websocketPorts(stateDir: string, asked: string | undefined): Promise<number[]> {
  if (asked === undefined) return [];
  const port = Number(asked.slice(asked.lastIndexOf(':') + 1));
  if (!Number.isInteger(port) || port > 65_535)
    throw new RollcallError('CONFIG_INVALID', `"${asked}" is no HOST:PORT for WebSocket`);
  const names = natsServerNames(stateDir).map((name) => name.replace('nats-server', 'websocket'));
  const wanted = port === 0 ? {} : { websocket: port };
  const ports = await loopbackPorts(join(stateDir, 'ports.json'), names, wanted);
  return names.map((name) => ports[name] ?? 0);
}

function listenHost(hosts: readonly string[]): string {
  return hosts.every(isLocal) ? '127.0.0.1' : '0.0.0.0';
}

/**
 * Which ports the hub takes, and what agents are told.
 * @throws RollcallError PORT_BUSY, CONFIG_INVALID
 */
export async function hubAddresses(stateDir: string, options: AddressOptions): Promise<HubAddresses> {
  const port = await natsPort(stateDir, options.port);
  const advertised = options.advertise?.length ? options.advertise : undefined;
  const { websocket } = options;
  const websocketHost = websocket === undefined ? undefined : hostOf(websocket);
  const overWebsocket = await websocketPorts(stateDir, websocket);
  const told = toldByOperator(stateDir);
  const hosts = [
    ...(advertised?.map(hostOf) ?? ['127.0.0.1']),
    ...(websocketHost === undefined ? [] : [websocketHost]),
    ...told.map((address) => parseHubAddress(address).host),
  ];
  return {
    port,
    websocketPorts: overWebsocket,
    hosts,
    listenHost: listenHost(hosts),
    forAgents(natsServers) {
      // Agents elsewhere have no use for the loopback address.
      const overNats = websocketHost === undefined || isLocal(websocketHost) ? natsServers : [];
      return [
        ...(advertised ?? (told.length > 0 ? told : overNats)),
        ...overWebsocket.map((one) =>
          formatHubAddress({ host: websocketHost ?? '', port: one, isWebSocket: true }),
        ),
      ];
    },
  };
}

/** @throws RollcallError PORT_BUSY */
async function natsPort(stateDir: string, asked: number | undefined): Promise<number> {
  const portsFile = join(stateDir, 'ports.json');
  const isFirst = asked === undefined && readState<{ nats?: number }>(portsFile)?.nats === undefined;
  const byDefault = isFirst ? { nats: defaultPort } : {};
  const wanted = asked === undefined || asked === 0 ? byDefault : { nats: asked };
  const { nats } = await loopbackPorts(portsFile, ['nats'], wanted).catch((thrown: unknown) => {
    if (!isFirst || toRollcallError(thrown).code !== 'PORT_BUSY') throw thrown;
    const message = `port ${defaultPort} is taken by another process: the one of a first start, where --port gives no other`;
    throw new RollcallError('PORT_BUSY', message, { cause: thrown });
  });
  return nats;
}

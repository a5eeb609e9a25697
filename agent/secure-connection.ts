import type { X509Certificate } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { HubAddress } from './hub-address.ts';
import { aliasedHost, type HubNetwork } from './hub-network.ts';
import { isExcepted, type Proxy } from './proxy-choice.ts';

/** The hub's server speaks it; what is older is an old proxy in between, or somebody who wants it to be (docs/security/keys.md). */
export const oldestTls = 'TLSv1.3';

const answerWithinMs = 10_000;

/** What node:tls connects to for an address of the hub, and by which name it checks who answers: always that of the address. */
export interface TlsPlace {
  readonly host: string;
  readonly port: number;
  readonly servername?: string;
  /** Behind a proxy: the connection that it made. */
  readonly socket?: Socket;
}

/** The proxy that an address is reached through; undefined where it is reached without. */
export function proxyFor({ host, port }: HubAddress, network: HubNetwork): Proxy | undefined {
  const { proxy, noProxy = [] } = network;
  const isWithout = (name: string) => isExcepted({ host: name, port }, noProxy);
  return isWithout(host) || isWithout(aliasedHost(host, network)) ? undefined : proxy;
}

/** @throws RollcallError what connectThroughProxy says */
export async function tlsPlace(address: HubAddress, network: HubNetwork): Promise<TlsPlace> {
  const { host, port } = address;
  const place = {
    host: aliasedHost(host, network),
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  const proxy = proxyFor(address, network);
  if (proxy === undefined) return place;
  // Few agents need it, and all of them count their memory.
  const { connectThroughProxy } = await import('./proxied-connection.ts');
  return { ...place, socket: await connectThroughProxy(proxy, place, network) };
}

/**
 * Whether the hub answers at an address, in the way that the address says.
 * @returns its certificate
 * @throws as openTls; RollcallError HUB_NOT_WEBSOCKET
 */
export async function tryAddress(
  address: HubAddress,
  network: HubNetwork,
  caPem: string,
): Promise<X509Certificate | undefined> {
  const secured = await openTls(address, network, { ca: caPem });
  try {
    const certificate = secured.getPeerX509Certificate();
    if (address.isWebSocket) {
      const { openWebSocket } = await import('./websocket-connection.ts');
      (await openWebSocket(address, secured)).destroy();
    }
    return certificate;
  } finally {
    secured.destroy();
  }
}

/**
 * A TLS connection to an address of the hub; its servers speak TLS from the first byte.
 * @param trust - as node:tls takes it
 * @throws what node:tls says, or that no answer came; connectionFailure makes an error for people of it. RollcallError for a proxy
 */
export async function openTls(
  address: HubAddress,
  network: HubNetwork,
  trust: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>,
): Promise<TLSSocket> {
  const place = await tlsPlace(address, network);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ ...place, ...trust, minVersion: oldestTls }, resolve);
  const late = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs);
  const closed = () => reject(new Error('the connection was closed'));
  socket.on('error', reject).once('close', closed);
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
  return socket.off('close', closed).setNoDelay(true);
}

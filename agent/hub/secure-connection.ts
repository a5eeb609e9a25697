import type { X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { connect as secure, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { HubAddress } from './hub-address.ts';
import { aliasedHost, type HubNetwork } from './hub-network.ts';
import { inAnyOrder } from './shuffle.ts';
import { isExcepted, type Proxy } from './proxy-url.ts';

/** The hub's server speaks it; what is older is an old proxy in between, or somebody who wants it to be (docs/security/keys.md). */
export const oldestTls = 'TLSv1.3';

const answerWithinMs = 10_000;
/**
 * For each address of the hub, and each IP address of a name, but the last: one whose machine has lost its power says nothing at all.
 * Node's 250 ms are less than a satellite takes.
 */
const attemptWithinMs = 1000;
/** For the last one: longer than it takes to send the first packet once more, where the way there and back takes half a second at most. */
const lastAttemptWithinMs = 1500;
/**
 * Behind one address may be several servers, one of them without power, or a pod that is gone already; the kernel sends its first packet
 * to that one again. So the last address is tried once more beside the first try, which leads elsewhere: of a fleet whose server's
 * pod is made anew half would wait for nothing (measured). Most lines answer sooner.
 */
const triedAgainAfterMs = 600;

/** What TLS is spoken over for an address of the hub, and by which name it checks who answers: always that of the address. */
export interface TlsPlace {
  readonly host: string;
  readonly port: number;
  readonly servername?: string;
  /** Connected, by a proxy where there is one. Whoever asked for it ends it. */
  readonly socket: Socket;
}

/** The proxy that an address is reached through; undefined where it is reached without. */
export function proxyFor({ host, port }: HubAddress, network: HubNetwork): Proxy | undefined {
  const { proxy, noProxy = [] } = network;
  const isWithout = (name: string) => isExcepted({ host: name, port }, noProxy);
  return isWithout(host) || isWithout(aliasedHost(host, network)) ? undefined : proxy;
}

/**
 * The ways to an address, in no order: one for each IP address of its name, where it is this agent that looks it up. Behind one of
 * them may be a server that is going away; and a fleet spreads over them.
 * @param lookUp - all IP addresses of a name
 * @returns the network as it leads there, by an alias
 * @throws what node:dns says
 */
export async function waysTo(
  address: HubAddress,
  network: HubNetwork,
  lookUp: (name: string) => Promise<readonly { address: string }[]> = (name) => lookup(name, { all: true }),
): Promise<HubNetwork[]> {
  const { host } = address;
  const isLookedUp = isIP(host) === 0 && aliasedHost(host, network) === host;
  if (!isLookedUp || proxyFor(address, network) !== undefined) return [network];
  return inAnyOrder(await lookUp(host)).map(({ address: ip }) => ({
    ...network,
    hostAliases: { ...network.hostAliases, [host.toLowerCase()]: ip },
  }));
}

/**
 * @param isLast - whether there is no other one to try
 * @throws RollcallError what connectThroughProxy says; without a proxy what node:net says, or that no answer came
 */
export async function tlsPlace(address: HubAddress, network: HubNetwork, isLast = true): Promise<TlsPlace> {
  const { host, port } = address;
  const place = {
    host: aliasedHost(host, network),
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  const proxy = proxyFor(address, network);
  if (proxy === undefined) return { ...place, socket: await connectDirectly(place, isLast) };
  // Few agents need it, and all of them count their memory.
  const { connectThroughProxy } = await import('./proxied-connection.ts');
  return { ...place, socket: await connectThroughProxy(proxy, place, network) };
}

async function connectDirectly(place: { host: string; port: number }, isLast: boolean): Promise<Socket> {
  const sockets = new Set<Socket>();
  const settled = new AbortController();
  const open = async (withinMs: number): Promise<Socket> => {
    const socket = connect({ ...place, autoSelectFamilyAttemptTimeout: attemptWithinMs });
    sockets.add(socket);
    await onceOpen(socket, 'connect', withinMs);
    return socket;
  };
  async function openAgain(): Promise<Socket> {
    await delay(triedAgainAfterMs, undefined, { signal: settled.signal });
    // Whoever stood still hears first what has come meanwhile.
    await immediate(undefined, { signal: settled.signal });
    return open(lastAttemptWithinMs - triedAgainAfterMs);
  }
  try {
    const tries = isLast ? [open(lastAttemptWithinMs), openAgain()] : [open(attemptWithinMs)];
    const first = await Promise.race(tries);
    sockets.delete(first);
    // Until TLS takes it over, nobody else listens.
    return first.on('error', () => undefined);
  } finally {
    settled.abort();
    for (const other of sockets) other.destroy();
  }
}

/** Waits for the event; where another comes first, or none in time, the socket is destroyed. */
async function onceOpen(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  withinMs = answerWithinMs,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const noAnswer = new Error(`no answer within ${withinMs} ms`);
  const giveUp = () =>
    reject(event === 'connect' ? Object.assign(noAnswer, { code: 'ETIMEDOUT' }) : noAnswer);
  // Whoever stood still hears first what has come meanwhile: the handshakes of a thousand agents in one process take seconds.
  const late = setTimeout(() => setImmediate(giveUp), withinMs);
  const closed = () => reject(new Error('the connection was closed'));
  socket.once(event, resolve).on('error', reject).once('close', closed);
  try {
    await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(late);
  }
  socket.off('close', closed);
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
 * @param isLast - whether there is no other one to try
 * @throws what node:tls says, or that no answer came; connectionFailure makes an error for people of it. RollcallError for a proxy
 */
export async function openTls(
  address: HubAddress,
  network: HubNetwork,
  trust: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>,
  isLast = true,
): Promise<TLSSocket> {
  const place = await tlsPlace(address, network, isLast);
  const socket = secure({ ...place, ...trust, minVersion: oldestTls });
  await onceOpen(socket, 'secureConnect');
  return socket.setNoDelay(true);
}

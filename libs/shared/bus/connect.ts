import { setTimeout as delay } from 'node:timers/promises';
import { errors, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import { connectNats } from './nats-transport.ts';

export interface BusAddress {
  /** `host:port`, several for one hub. */
  readonly servers: readonly string[];
  /** The hub's CA; its servers always speak TLS, handshake first. */
  readonly caPem: string;
  /** Read again for each connection, instead of `caPem`: a service lives longer than a CA. */
  readonly caFile?: string;
}

export interface BusCredentials {
  readonly jwt: string;
  readonly seed: string;
}

/** Signs the server's nonce with `node:crypto`; the library's own way takes 30 ms more (measured). */
export function jwtProof(
  credentials: BusCredentials | (() => BusCredentials),
): (nonce?: string) => { jwt: string; nkey: string; sig: string } {
  const now = typeof credentials === 'function' ? credentials : () => credentials;
  return (nonce) => {
    const { jwt, seed } = now();
    return { jwt, nkey: '', sig: nkeyFromSeed(seed).sign(nonce ?? '') };
  };
}

/** The options every connection of ours shares: it never gives up, and every inbox is its own. */
export function connectionOptions(address: BusAddress, name: string): NodeConnectionOptions {
  return {
    servers: [...address.servers],
    name,
    inboxPrefix: `_INBOX_${name}`,
    tls: {
      ...(address.caFile === undefined ? { ca: address.caPem } : { caFile: address.caFile }),
      handshakeFirst: true,
    },
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 250,
    reconnectJitterTLS: 1000,
    // A server whose machine has lost its power says nothing: when two of these had no reply and a third is due, another one is taken. A
    // service that hears nothing for longer keeps clusters waiting that want to join (with 20 s: 58 s, measured).
    pingInterval: 2000,
    maxPingOut: 2,
    // Else each request and each subscription makes an error in advance, with its stack: 5 % of a hub's CPU in a burst (measured).
    noAsyncTraces: true,
  };
}

const certificateTrouble = /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|INVALID_CA|HOSTNAME_)/;

/** What waiting mends, and what it does not: a server that is there and refuses who comes, or is another one than it should be. */
function whyNotConnected(address: BusAddress, cause: unknown): RollcallError {
  const why = `cannot connect to ${address.servers.join(', ')}: ${String(cause)}`;
  if (cause instanceof errors.AuthorizationError || cause instanceof errors.UserAuthenticationExpiredError)
    return new RollcallError('BUS_REFUSED', why, { cause });
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'CERT_HAS_EXPIRED') return new RollcallError('HUB_CERT_EXPIRED', why, { cause });
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return new RollcallError('HUB_CERT_NAME', why, { cause });
  if (certificateTrouble.test(code))
    return new RollcallError('CONFIG_INVALID', `the CA that is given is not the server's: ${why}`, { cause });
  return new RollcallError('BUS_UNREACHABLE', why, { cause });
}

/**
 * A server that is busy gives a handshake up after two seconds: it is there, and takes the next one. And behind one name may be several
 * servers, of which one does not answer.
 */
const isWorthAnother = (cause: unknown) =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ECONNRESET' || cause.code === 'ETIMEDOUT');
const againInMs = 250;

/**
 * Connects a service or a person to the hub.
 * @param credentials - a function is asked for each connection, because users roll over while a service runs
 * @param name - role of the user; its inbox prefix must be what the rights table allows
 * @param timeout - of the first connection, in ms
 * @throws RollcallError BUS_UNREACHABLE when the first connection does not come about in time; BUS_REFUSED, CONFIG_INVALID,
 *   HUB_CERT_EXPIRED, HUB_CERT_NAME where a server is there and waiting does not help
 */
export async function connectBus(
  address: BusAddress,
  credentials: BusCredentials | (() => BusCredentials),
  name: string,
  timeout = 10_000,
): Promise<NatsConnection> {
  const untilMs = performance.now() + timeout;
  for (;;) {
    try {
      return await connectNats({
        ...connectionOptions(address, name),
        authenticator: jwtProof(credentials),
        timeout,
      });
    } catch (cause) {
      if (!isWorthAnother(cause) || performance.now() > untilMs) throw whyNotConnected(address, cause);
      await delay(againInMs);
    }
  }
}

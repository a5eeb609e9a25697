import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import {
  AuthorizationError,
  type NatsConnection,
  type NodeConnectionOptions,
  PermissionViolationError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import { connectNats, unsentBytes } from '@rollcall/shared/bus/nats-transport';
import { tunnelConnectionName } from '@rollcall/shared/tunnel/subjects';
import type { RollcallError } from '@rollcall/shared/errors';
import type { Nkey } from '@rollcall/shared/trust/keys';
import type { Credential } from '../protocol/credential-choice.ts';
import { type HubAddress, hostAndPort } from '../hub/hub-address.ts';
import type { HubNetwork } from '../hub/hub-network.ts';
import { connectionFailure, isTrustFailure, nobodyListened } from '../hub/hub-trust.ts';
import { oldestTls, openTls, tlsPlace, waysTo } from '../hub/secure-connection.ts';

export interface DialOptions {
  /** Of one hub: any will do, and they are tried in their order. */
  readonly addresses: readonly HubAddress[];
  readonly network?: HubNetwork | undefined;
  readonly caPem: string;
  /** Name of the connection: the callout reads which cluster an agent without credentials says it is. */
  readonly clusterId: string;
  readonly ownKey: Nkey;
  /** Whether it is one beside the agent's own, for what people ask of the member: by its name the hub tells them apart. */
  readonly purpose?: 'tunnel' | undefined;
  /** Needed for role `token` only. */
  readonly tokenKey: Nkey | undefined;
  /** For role `returning`: member credentials that have ended, for a hub that was restored and does not know us. */
  readonly formerJwt?: string | undefined;
}

/** One connection with one credential, for as long as it lasts. */
export interface HubLink {
  readonly role: Credential['role'];
  /** The agent's key that it was made with. */
  readonly key: Nkey;
  readonly address: HubAddress;
  /** When the connection is gone, whoever closed it; never rejects. */
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** Whether the server said that it ends this connection: its credentials have, or it hands over to other servers. */
  wasDismissed(): boolean;
  /** So much was published and has not gone out: the line may be slow. */
  waitingBytes(): number;
  /** What cannot be sent is dropped: heartbeats come again, and requests are repeated until they are answered. */
  publish(subject: string, data: Uint8Array): void;
  subscribe(subject: string, hear: (data: Uint8Array, subject: string) => void): void;
  /** Resolves when the server has all that was published, or when the connection ends before. */
  flush(): Promise<void>;
  /** Ends the connection where the server does not answer within four seconds: its machine may have lost its power. Never rejects. */
  check(): Promise<void>;
  /** Sends what is left, then closes. */
  close(): Promise<void>;
}

/** As much as the hub lets an agent say at once; it ends the connection of who says more, and a member may have any words. */
const mostBytes = 65_536;
const connectTimeoutMs = 10_000;
/**
 * A server asks the registrar, for five seconds, and then refuses in the same words as when it said no: it may just have started. What is
 * judged takes less, by a hub that answers late on purpose two seconds.
 */
const unjudgedAfterMs = 4500;
/** What is left to send is a heartbeat and a request; both can be lost. */
const drainMs = 2000;
/** Asked with each heartbeat: the agent is with another server before the hub misses the one after the next. */
const checkedWithinMs = 4000;

/** Proves who we are over the server's nonce; nothing secret is sent. */
function proof(credential: Credential, { ownKey, tokenKey, formerJwt }: DialOptions) {
  return (nonce = '') => {
    if ('jwt' in credential) return { jwt: credential.jwt, nkey: '', sig: ownKey.sign(nonce) };
    if (credential.role === 'token' && tokenKey !== undefined) {
      return {
        nkey: tokenKey.publicKey,
        sig: tokenKey.sign(nonce),
        user: ownKey.publicKey,
        pass: ownKey.sign(nonce),
      };
    }
    const former = formerJwt === undefined ? {} : { pass: formerJwt };
    return { nkey: ownKey.publicKey, sig: ownKey.sign(nonce), ...former };
  };
}

/**
 * Connects once. Connecting again is the caller's: which credential comes next, and how long to wait, depends on why the last
 * connection ended, which nats.js tells nobody while it reconnects by itself.
 * @returns undefined when the hub refuses the credential
 * @throws RollcallError what connectionFailure says; who answers and is not trusted is told before who does not answer
 */
export async function dialHub(credential: Credential, options: DialOptions): Promise<HubLink | undefined> {
  let isRefused = false;
  let untrusted: RollcallError | undefined;
  let failure: unknown;
  function failed(address: HubAddress, thrown: unknown, tookMs = 0): void {
    const isNo = isRefusal(thrown);
    if (isNo && tookMs < unjudgedAfterMs) {
      isRefused = true;
      return;
    }
    const found = isNo ? new Error('it judges nobody at the moment', { cause: thrown }) : thrown;
    const seen = connectionFailure(found, [address]);
    if (isTrustFailure(seen.code)) untrusted ??= seen;
    // A server that is there, and too late, says more of the hub than one that is not.
    if (nobodyListened(seen) && failure !== undefined) return;
    failure = found;
  }
  for (const address of options.addresses) {
    const ways = await waysTo(address, options.network ?? {}).catch((thrown: unknown) => {
      failed(address, thrown);
      return [];
    });
    for (const network of ways) {
      const sinceMs = performance.now();
      try {
        const isLast = address === options.addresses.at(-1) && network === ways.at(-1);
        const nc = await connectTo(address, credential, { ...options, network }, isLast);
        return linkOver(nc, { role: credential.role, key: options.ownKey, address });
      } catch (thrown) {
        failed(address, thrown, performance.now() - sinceMs);
      }
    }
  }
  if (isRefused) return undefined;
  throw untrusted ?? connectionFailure(failure, options.addresses);
}

async function connectTo(
  address: HubAddress,
  credential: Credential,
  options: DialOptions,
  isLast: boolean,
): Promise<NatsConnection> {
  const { caPem: ca, clusterId, network = {} } = options;
  const common = {
    name: options.purpose === 'tunnel' ? tunnelConnectionName : clusterId,
    inboxPrefix: `_INBOX_${clusterId}`,
    authenticator: proof(credential, options),
    reconnect: false,
    ignoreAuthErrorAbort: true,
    timeout: connectTimeoutMs,
    // Before an agent is a member, and where heartbeats are rare, two of them notice that a server is gone which does not say so.
    pingInterval: 20_000,
  };
  if (address.isWebSocket) {
    // Few agents need it, and all of them count their memory.
    const { openWebSocket } = await import('../hub/websocket-connection.ts');
    const stream = await openWebSocket(address, await openTls(address, network, { ca }, isLast));
    const tls = { ca, handshakeFirst: true };
    return endingWith(
      stream,
      connectNats({ ...common, servers: hostAndPort(address), tls, resolve: false, stream }),
    );
  }
  const { host, port, ...checkedBy } = await tlsPlace(address, network, isLast);
  // nats.js hands all of it to node:tls, and its type lists less.
  const tls: NodeConnectionOptions['tls'] & ConnectionOptions = {
    ...checkedBy,
    ca,
    minVersion: oldestTls,
    handshakeFirst: true,
  };
  // The socket is connected already, to whatever the name stands for.
  const connecting = connectNats({ ...common, servers: hostAndPort({ host, port }), tls, resolve: false });
  return endingWith(checkedBy.socket, connecting);
}

/** nats.js leaves what it was given to whoever made it, when no connection comes about. */
async function endingWith(made: Duplex, connecting: Promise<NatsConnection>): Promise<NatsConnection> {
  try {
    return await connecting;
  } catch (error) {
    made.destroy();
    throw error;
  }
}

/** "Authentication Timeout" is no refusal: nobody answered the callout in time. */
function isRefusal(thrown: unknown): boolean {
  if (thrown instanceof UserAuthenticationExpiredError) return true;
  return thrown instanceof AuthorizationError && !/timeout/i.test(thrown.message);
}

function linkOver(nc: NatsConnection, of: Pick<HubLink, 'role' | 'key' | 'address'>): HubLink {
  const closed = nc.closed().then(
    () => undefined,
    () => undefined,
  );
  /** @returns whether it took longer than that; never rejects */
  async function isLate(done: Promise<unknown>, withinMs: number): Promise<boolean> {
    const timer = new AbortController();
    const late = delay(withinMs, true, { signal: timer.signal }).catch(() => false);
    const inTime = done.then(
      () => false,
      () => false,
    );
    const first = await Promise.race([inTime, closed.then(() => false), late]);
    timer.abort();
    return first;
  }
  let isDismissed = false;
  async function followStatus(): Promise<void> {
    for await (const status of nc.status()) {
      const isLast = status.type === 'error' && !(status.error instanceof PermissionViolationError);
      if (status.type === 'ldm' || isLast) isDismissed = true;
    }
  }
  void followStatus();
  return {
    ...of,
    closed,
    isClosed: () => nc.isClosed(),
    wasDismissed: () => isDismissed,
    waitingBytes: () => unsentBytes(nc),
    publish(subject, data) {
      const isSendable = !nc.isClosed() && !nc.isDraining() && data.length <= mostBytes;
      if (isSendable) nc.publish(subject, data);
    },
    subscribe(subject, hear) {
      nc.subscribe(subject, {
        callback: (error, message) => void (error === null && hear(message.data, message.subject)),
      });
    },
    // A server that dies meanwhile leaves flush and drain of nats.js without an end (seen under kill -9).
    flush: () => Promise.race([nc.flush(), closed]),
    async check() {
      if (!nc.isClosed() && (await isLate(nc.flush(), checkedWithinMs))) await nc.close();
    },
    async close() {
      if (nc.isClosed()) return;
      await isLate(nc.drain(), drainMs);
      if (!nc.isClosed()) await nc.close();
    },
  };
}

import { setTimeout as delay } from 'node:timers/promises';
import {
  AuthorizationError,
  connect,
  type NatsConnection,
  PermissionViolationError,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import type { Nkey } from '@rollcall/shared/trust/keys';
import type { Credential } from './credential-choice.ts';
import { formatHubAddress, type HubAddress } from './hub-address.ts';
import { connectionFailure, oldestTls } from './hub-trust.ts';

export interface DialOptions {
  readonly addresses: readonly HubAddress[];
  readonly caPem: string;
  /** Name of the connection: the callout reads which cluster an agent without credentials says it is. */
  readonly clusterId: string;
  readonly ownKey: Nkey;
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
  /** When the connection is gone, whoever closed it; never rejects. */
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** Whether the server said that it ends this connection: its credentials have, or it hands over to other servers. */
  wasDismissed(): boolean;
  /** What cannot be sent is dropped: beats come again, and asks are repeated until they are answered. */
  publish(subject: string, data: Uint8Array): void;
  subscribe(subject: string, hear: (data: Uint8Array, subject: string) => void): void;
  /** Resolves when the server has all that was published, or when the connection ends before. */
  flush(): Promise<void>;
  /** Sends what is left, then closes. */
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
/** What is left to send is a beat and an ask; both can be lost. */
const drainMs = 2000;

/** nats.js hands all of it to node:tls, and its type lists less. */
function hubTls(caPem: string) {
  const minVersion: { minVersion: typeof oldestTls } = { minVersion: oldestTls };
  return { ca: caPem, handshakeFirst: true, ...minVersion };
}

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
 * @returns undefined when the server refuses the credential
 * @throws RollcallError what connectionFailure says
 */
export async function dialHub(credential: Credential, options: DialOptions): Promise<HubLink | undefined> {
  let nc: NatsConnection;
  try {
    nc = await connect({
      servers: options.addresses.map(formatHubAddress),
      name: options.clusterId,
      inboxPrefix: `_INBOX_${options.clusterId}`,
      tls: hubTls(options.caPem),
      authenticator: proof(credential, options),
      reconnect: false,
      ignoreAuthErrorAbort: true,
      timeout: connectTimeoutMs,
      // A connection that is silently dead is noticed after two of them.
      pingInterval: 20_000,
    });
  } catch (thrown) {
    if (isRefusal(thrown)) return undefined;
    throw connectionFailure(thrown, options.addresses);
  }
  return linkOver(nc, credential.role, options.ownKey);
}

/** "Authentication Timeout" is no refusal: nobody answered the callout in time. */
function isRefusal(thrown: unknown): boolean {
  if (thrown instanceof UserAuthenticationExpiredError) return true;
  return thrown instanceof AuthorizationError && !/timeout/i.test(thrown.message);
}

function linkOver(nc: NatsConnection, role: Credential['role'], key: Nkey): HubLink {
  const closed = nc.closed().then(
    () => undefined,
    () => undefined,
  );
  let isDismissed = false;
  async function followStatus(): Promise<void> {
    for await (const status of nc.status()) {
      const isLast = status.type === 'error' && !(status.error instanceof PermissionViolationError);
      if (status.type === 'ldm' || isLast) isDismissed = true;
    }
  }
  void followStatus();
  return {
    role,
    key,
    closed,
    isClosed: () => nc.isClosed(),
    wasDismissed: () => isDismissed,
    publish(subject, data) {
      if (!nc.isClosed() && !nc.isDraining()) nc.publish(subject, data);
    },
    subscribe(subject, hear) {
      nc.subscribe(subject, {
        callback: (error, message) => void (error === null && hear(message.data, message.subject)),
      });
    },
    // A server that dies meanwhile leaves flush and drain of nats.js without an end (seen under kill -9).
    flush: () => Promise.race([nc.flush(), closed]),
    async close() {
      if (nc.isClosed()) return;
      const timer = new AbortController();
      const late = delay(drainMs, undefined, { signal: timer.signal }).catch(() => undefined);
      await Promise.race([nc.drain().catch(() => undefined), closed, late]);
      timer.abort();
      if (!nc.isClosed()) await nc.close();
    },
  };
}

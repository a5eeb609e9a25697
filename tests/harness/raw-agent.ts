import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type BusCredentials, connectionOptions, jwtProof } from '@rollcall/shared/bus';
import { type Reply, type AgentRequestInput, decodeReply } from '@rollcall/shared/protocol';
import { createNkey, hubIdOf, type Nkey, type RegistrationToken, signMessage } from '@rollcall/shared/trust';
import type { TestHub } from './test-hub.ts';

/** An agent reduced to its messages: it says exactly what a test tells it to, true or forged. */
export interface RawAgent extends AsyncDisposable {
  readonly nc: NatsConnection;
  readonly key: Nkey;
  /** Sends and waits for the reply to this very request. */
  request(verb: AgentRequestInput['verb'], body: unknown, options?: RawRequestOptions): Promise<Reply>;
  /** The next reply that nobody asked for: a decision. */
  nextNews(): Promise<Reply>;
}

export interface RawRequestOptions {
  readonly id?: string;
  readonly hub?: string;
  /** When it says it was signed; default: now. */
  readonly atMs?: number;
  readonly signers?: readonly Nkey[];
  /** Another subject than the true one, to try what the server allows. */
  readonly subject?: string;
}

/** What an agent has to know of a hub. */
export type AskedHub = Pick<TestHub, 'address'> & { readonly hub: Pick<TestHub['hub'], 'hubId'> };

let counter = 0;
export function freshId(): string {
  return `request-${Date.now().toString(36)}-${counter++}-${process.pid}`;
}

function listen(nc: NatsConnection, hub: AskedHub, key: Nkey): RawAgent {
  const waiting = new Map<string, (reply: Reply) => void>();
  const news: Reply[] = [];
  let wake = Promise.withResolvers<void>();
  const trusted = (replyKey: string) => hubIdOf(replyKey) === hub.hub.hubId;
  nc.subscribe(`rollcall.reply.${key.publicKey}.>`, {
    callback: (error, message) => {
      if (error) return;
      const decoded = decodeReply(message.data, { agentKey: key.publicKey, replyKeyIsTrusted: trusted });
      if (!decoded) return;
      const resolve = waiting.get(decoded.reply.inReplyTo);
      waiting.delete(decoded.reply.inReplyTo);
      if (resolve) resolve(decoded.reply);
      else news.push(decoded.reply);
      wake.resolve();
    },
  });
  return {
    nc,
    key,
    async request(verb, body, options = {}) {
      const id = options.id ?? freshId();
      const content = {
        v: 1,
        hub: options.hub ?? hub.hub.hubId,
        verb,
        id,
        atMs: options.atMs ?? Date.now(),
        body,
      };
      const answered = new Promise<Reply>((resolve) => void waiting.set(id, resolve));
      nc.publish(
        options.subject ?? `rollcall.request.${key.publicKey}.${verb}`,
        JSON.stringify(signMessage(content, options.signers ?? [key])),
      );
      return answered;
    },
    async nextNews() {
      for (;;) {
        const first = news.shift();
        if (first) return first;
        wake = Promise.withResolvers<void>();
        await wake.promise;
      }
    },
    async [Symbol.asyncDispose]() {
      await nc.close();
    },
  };
}

/** Connects as a new agent does: token and own key prove themselves over the server's nonce. */
export async function connectWithToken(
  hub: AskedHub,
  token: Pick<RegistrationToken, 'key'>,
  options: { key?: Nkey; forgePass?: boolean } = {},
): Promise<RawAgent> {
  const key = options.key ?? createNkey('user');
  const nc = await connect({
    ...connectionOptions(hub.address, 'agent'),
    maxReconnectAttempts: 0,
    ignoreAuthErrorAbort: false,
    authenticator: (nonce = '') => ({
      nkey: token.key.publicKey,
      sig: token.key.sign(nonce),
      user: key.publicKey,
      pass: options.forgePass ? createNkey('user').sign(nonce) : key.sign(nonce),
    }),
  });
  return listen(nc, hub, key);
}

/** Connects with the key alone, as an agent whose credentials have ended; it may show those. */
export async function connectWithKey(
  hub: AskedHub,
  key: Nkey,
  clusterId: string,
  formerJwt?: string,
): Promise<RawAgent> {
  const nc = await connect({
    ...connectionOptions(hub.address, 'agent'),
    name: clusterId,
    maxReconnectAttempts: 0,
    ignoreAuthErrorAbort: false,
    authenticator: (nonce = '') => ({
      nkey: key.publicKey,
      sig: key.sign(nonce),
      ...(formerJwt === undefined ? {} : { pass: formerJwt }),
    }),
  });
  return listen(nc, hub, key);
}

export async function connectWithCredentials(
  hub: AskedHub,
  key: Nkey,
  credentials: BusCredentials,
): Promise<RawAgent> {
  const nc = await connect({
    ...connectionOptions(hub.address, 'agent'),
    maxReconnectAttempts: 0,
    ignoreAuthErrorAbort: false,
    authenticator: jwtProof(credentials),
  });
  return listen(nc, hub, key);
}

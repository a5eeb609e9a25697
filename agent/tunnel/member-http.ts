import type { ClientRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { requestAccountToken } from '@rollcall/shared/kubernetes/account-token';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import type { MemberAccess } from './impersonation.ts';

/** Requests to the member's API server as they are, with bodies of any length. */
export interface MemberHttp {
  /** Begins a request; its body and its answer are the caller's. */
  begin(options: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string | readonly string[]>>;
  }): Promise<ClientRequest>;
  close(): void;
}

/** Below the 90 s after which an API server drops an idle connection. */
const idleConnectionMs = 30_000;
const tokenLifeS = 3600;
const renewedAfterMs = (tokenLifeS / 2) * 1000;
/** One that is refused sooner is good, and somebody behind the API server does not take it. */
const refusedAfterMs = 10_000;

/** The token of one ServiceAccount, which the agent may have made; as long as it is good. */
function accountToken(access: KubeAccess, account: { namespace: string; name: string }, version: string) {
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-agent',
    userAgent: `rollcall-agent/${version}`,
    timeoutMs: 10_000,
  });
  let token: Promise<string> | undefined;
  let madeAtMs = 0;
  let last: string | undefined;
  async function make(): Promise<string> {
    const { token: made } = await requestAccountToken(client, account, { expirationSeconds: tokenLifeS });
    if (made === undefined)
      throw new Error(`the member gave no token for ServiceAccount ${account.namespace}/${account.name}`);
    last = made;
    return made;
  }
  return {
    /** The member does not know a token any more: its account was made anew, or this machine has slept for longer than it lived. */
    refused(shown: string | undefined) {
      if (shown === last && performance.now() > madeAtMs + refusedAfterMs) token = undefined;
    },
    close: () => client.close(),
    now() {
      if (token === undefined || performance.now() > madeAtMs + renewedAfterMs) {
        madeAtMs = performance.now();
        token = make();
        token.catch(() => void (token = undefined));
      }
      return token;
    },
  };
}

export function openMemberHttp(member: KubeAccess, access: MemberAccess, version: string): MemberHttp {
  const base = new URL(member.server);
  const account = access.as === 'account' ? accountToken(member, access, version) : undefined;
  // An account's token must not come with the agent's own certificate: that one would count.
  const own = account === undefined ? { cert: member.certPem, key: member.keyPem } : {};
  const agent = new Agent({
    // Once for all connections: each would hold certificates and key of its own, and each request would compare them.
    secureContext: createSecureContext({ ca: member.caPem, ...own }),
    servername: member.tlsServerName,
    keepAlive: true,
    keepAliveMsecs: 15_000,
    timeout: idleConnectionMs,
    scheduling: 'lifo',
  });
  async function tokenNow(): Promise<string | undefined> {
    if (account !== undefined) return account.now();
    return typeof member.token === 'function' ? member.token() : member.token;
  }
  return {
    async begin({ method, path, headers }) {
      const token = await tokenNow();
      const request = httpsRequest({
        agent,
        protocol: base.protocol,
        hostname: base.hostname.replace(/^\[|\]$/g, ''),
        port: base.port === '' ? 443 : base.port,
        path: base.pathname.replace(/\/$/, '') + path,
        method,
        headers: {
          ...headers,
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        } as Record<string, string | string[]>,
      });
      // A kept connection ends when nobody uses it; one in use may be silent for as long as a watch is.
      request.on('socket', (socket) => socket.setTimeout(0));
      request.once('response', ({ statusCode }) => {
        if (statusCode === 401) account?.refused(token);
      });
      // Whoever waits for it hears it as well; that it is given up before anybody does must not end the agent.
      request.on('error', () => undefined);
      return request;
    },
    close() {
      agent.destroy();
      account?.close();
    },
  };
}

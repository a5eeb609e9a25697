import { Agent, request as httpsRequest } from 'node:https';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { RollcallError, toRollcallError } from '../errors/index.ts';
import type { KubeAccess } from './kubeconfig/kube-access.ts';

export interface TransportRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  path: string;
  body?: string | undefined;
  contentType?: string | undefined;
  /** What the answer shall be; default: JSON as the API has it. */
  accept?: string | undefined;
  /** From sending to the last byte of the answer. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export interface TransportResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Carries requests to one API server over kept-alive connections. It knows HTTP and TLS, and nothing of Kubernetes. */
export interface Transport {
  /**
   * @throws RollcallError `KUBE_UNREACHABLE` without an answer, `KUBECONFIG_INVALID` for credentials that nothing can be sent with; the
   *   signal's reason if that was aborted
   */
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Opens an answer without an end, on a connection of its own that the caller destroys. `timeoutMs` is for its head. */
  open(request: TransportRequest): Promise<IncomingMessage>;
  close(): void;
}

/** Below the 90 s after which an API server drops an idle connection, so that a request never races with that. */
const idleConnectionMs = 30_000;
const maxConnections = 32;
/** What asking costs beside the answer, of a server that is not trusted: one that answers nothing at all would be free. */
const requestCostBytes = 16_384;

export function createTransport(access: KubeAccess, userAgent: string): Transport {
  const base = new URL(access.server);
  const tls = {
    ca: access.caPem,
    cert: access.certPem,
    key: access.keyPem,
    servername: access.tlsServerName,
    ...(access.caution ? { lookup: access.caution.lookup } : {}),
  };
  const { maxResponseBytes = Infinity, spend = () => true } = access.caution ?? {};
  const agent = new Agent({
    ...tls,
    keepAlive: true,
    maxSockets: maxConnections,
    timeout: idleConnectionMs,
    scheduling: 'lifo',
  });
  // Watches stay open for minutes: they must not use up the connections of the requests.
  const watchAgent = new Agent({ ...tls, keepAlive: false });

  let hadToken = false;
  /** A plugin or a file that worked and does not for a moment is trouble that passes, and nothing that a person has to mend first. */
  async function tokenNow(): Promise<string | undefined> {
    if (typeof access.token !== 'function') return access.token;
    try {
      const token = await access.token();
      hadToken = true;
      return token;
    } catch (cause) {
      if (!hadToken) throw cause;
      const message = `there is no token for the API server at the moment: ${toRollcallError(cause).message}`;
      throw new RollcallError('KUBE_UNREACHABLE', message, { cause });
    }
  }

  async function start(options: TransportRequest, using: Agent): Promise<ClientRequest> {
    options.signal?.throwIfAborted();
    const token = await tokenNow();
    const request = httpsRequest({
      agent: using,
      protocol: base.protocol,
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port === '' ? 443 : base.port,
      path: base.pathname.replace(/\/$/, '') + options.path,
      method: options.method,
      headers: {
        accept: options.accept ?? 'application/json',
        'user-agent': userAgent,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(options.body === undefined
          ? {}
          : {
              'content-type': options.contentType ?? 'application/json',
              'content-length': Buffer.byteLength(options.body),
            }),
      },
    });
    request.end(options.body);
    return request;
  }

  /** Sends and lets `take` decide when the answer is complete. */
  async function exchange<T>(
    options: TransportRequest,
    using: Agent,
    take: (answer: IncomingMessage, done: (result: T) => void, fail: (error: Error) => void) => void,
  ): Promise<T> {
    const request = await start(options, using).catch((error: unknown) => {
      throw unusable(access, error) ?? error;
    });
    const { signal } = options;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${options.timeoutMs} ms`)),
      options.timeoutMs,
    );
    const abort = (): void => void request.destroy(new Error('aborted'));
    signal?.addEventListener('abort', abort, { once: true });
    // It may have been aborted while the token was fetched, and then no listener hears of it any more.
    if (signal?.aborted) abort();
    request.on('error', reject);
    request.on('response', (answer) => take(answer, resolve, reject));
    try {
      return await promise;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw unreachable(access, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  return {
    send: (options) => {
      if (!spend(requestCostBytes)) return Promise.reject(unreachable(access, tooLarge()));
      return exchange<TransportResponse>(options, agent, (answer, done, fail) => {
        const chunks: Buffer[] = [];
        let sizeBytes = 0;
        answer.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          sizeBytes += chunk.length;
          if (sizeBytes > maxResponseBytes || !spend(chunk.length)) answer.destroy(tooLarge());
        });
        answer.on('error', fail);
        answer.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8');
          done({ status: answer.statusCode ?? 0, headers: answer.headers, body });
        });
      });
    },
    open: (options) =>
      // Nobody counts what comes then, and it has no end.
      access.caution
        ? Promise.reject(unreachable(access, tooLarge()))
        : exchange<IncomingMessage>(options, watchAgent, (answer, done) => {
            // TCP notices a peer that vanished without a word; the watch itself may be silent for a minute.
            answer.socket.setKeepAlive(true, 15_000);
            done(answer);
          }),
    close: () => {
      agent.destroy();
      watchAgent.destroy();
    },
  };
}

/** @returns undefined where it is not the credentials by which no request could be made */
function unusable({ userName }: KubeAccess, cause: unknown): RollcallError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (!/^ERR_(OSSL|SSL|MISSING_PASSPHRASE|INVALID_CHAR)/.test(code)) return undefined;
  const message = `the certificate, key or token of user "${userName}" cannot be used: ${code}`;
  return new RollcallError('KUBECONFIG_INVALID', message, { cause });
}

function tooLarge(): Error {
  return Object.assign(new Error('the answer is too long'), { code: 'ERESPONSETOOLARGE' });
}

function unreachable(access: KubeAccess, error: unknown): RollcallError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // The TLS library's words quote the certificate that was shown.
  const text = access.caution ? 'no answer' : error instanceof Error ? error.message : String(error);
  const detail = text.includes(code) ? text : `${text} (${code})`;
  return new RollcallError(
    'KUBE_UNREACHABLE',
    `cannot reach the API server ${access.server}: ${detail || code}`,
    {
      cause: error,
    },
  );
}

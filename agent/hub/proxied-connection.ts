import { type ClientRequest, type IncomingMessage, request, STATUS_CODES } from 'node:http';
import { request as requestOverTls } from 'node:https';
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';
import { type HubAddress, hostAndPort } from './hub-address.ts';
import type { HubNetwork } from './hub-network.ts';
import { type Proxy, proxyName } from './proxy-url.ts';

const answerWithinMs = 10_000;
/** A proxy that says so has tried: it is the hub that did not answer it. */
const hubIsAway: ReadonlySet<number | undefined> = new Set([502, 503, 504]);

/**
 * Has a proxy connect to an address of the hub.
 * @returns the connection behind the proxy, on which nothing was said yet
 * @throws RollcallError PROXY_UNREACHABLE, PROXY_UNTRUSTED, PROXY_NOT_HTTP, PROXY_AUTH, PROXY_REFUSED; HUB_UNREACHABLE where the proxy
 *   cannot reach the hub
 */
export async function connectThroughProxy(
  proxy: Proxy,
  target: HubAddress,
  { proxyCaPem }: Pick<HubNetwork, 'proxyCaPem'>,
): Promise<Socket> {
  const to = hostAndPort(target);
  const { host, port, authorization } = proxy;
  const headers = {
    host: to,
    ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
  };
  const asked = { method: 'CONNECT', host, port, path: to, headers, agent: false };
  const asking = proxy.isTls
    ? requestOverTls({
        ...asked,
        // Left out, it would be that of the header `host`: the hub's.
        servername: isIP(host) === 0 ? host : '',
        ...(proxyCaPem === undefined ? {} : { ca: proxyCaPem }),
      })
    : request(asked);
  try {
    const { answer, socket, head } = await answerTo(asking);
    const refusal = refusalOf(answer.statusCode, proxy, to);
    if (refusal) {
      socket.destroy();
      throw refusal;
    }
    if (head.length > 0) socket.unshift(head);
    return socket;
  } catch (thrown) {
    asking.destroy();
    throw thrown instanceof RollcallError ? thrown : proxyFailure(thrown, proxy);
  }
}

interface ProxyResponse {
  readonly answer: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

async function answerTo(asking: ClientRequest): Promise<ProxyResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ProxyResponse>();
  asking.on('error', reject);
  asking.once('connect', (answer, socket, head) => {
    // Until TLS with the hub takes it over, nobody else listens.
    socket.on('error', () => undefined);
    resolve({ answer, socket: socket as Socket, head });
  });
  const late = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs);
  asking.end();
  return promise.finally(() => clearTimeout(late));
}

function refusalOf(status: number | undefined, proxy: Proxy, to: string): RollcallError | undefined {
  if (status !== undefined && status >= 200 && status < 300) return undefined;
  const name = `the proxy ${proxyName(proxy)}`;
  // Our own words for the number: those of the proxy are anybody's.
  const answered = `it answered ${status} ${STATUS_CODES[status ?? 0] ?? ''}`.trim();
  if (status === 407) {
    const why = proxy.authorization === undefined ? 'asks for credentials' : 'does not take the credentials';
    return new RollcallError('PROXY_AUTH', `${name} ${why} (${answered})`);
  }
  return hubIsAway.has(status)
    ? new RollcallError('HUB_UNREACHABLE', `${name} cannot reach the hub at ${to} (${answered})`)
    : new RollcallError('PROXY_REFUSED', `${name} does not connect to ${to} (${answered})`);
}

const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|HOSTNAME_)/;
const otherProtocolCodes = /^(HPE_|ERR_SSL_|EPROTO)/;

function proxyFailure(thrown: unknown, proxy: Proxy): RollcallError {
  const name = `the proxy ${proxyName(proxy)}`;
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const why = thrown instanceof Error && thrown.message !== '' ? thrown.message : code;
  if (certificateCodes.test(code))
    return new RollcallError('PROXY_UNTRUSTED', `${name} shows a certificate that is not trusted: ${why}`);
  if (otherProtocolCodes.test(code)) {
    const spoken = proxy.isTls ? 'HTTP over TLS' : 'HTTP';
    return new RollcallError('PROXY_NOT_HTTP', `${name} does not speak ${spoken} (${code})`);
  }
  return new RollcallError('PROXY_UNREACHABLE', `cannot reach ${name}: ${why}`, { cause: thrown });
}

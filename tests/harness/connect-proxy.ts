import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createCa, issueCertificate } from '@rollcall/shared/trust';

/**
 * What a proxy does with those who ask it to connect.
 * - `open`: connects. `refuse`: 403. `bad-gateway`: 502. `hang`: takes the request and never answers. `cut`: ends the connection.
 * - `garbage`: answers, and not in HTTP.
 */
export type ProxyBehaviour = 'open' | 'refuse' | 'bad-gateway' | 'hang' | 'cut' | 'garbage';

/** An HTTP proxy that passes connections on, as those between members and hubs do. */
export interface ConnectProxy extends AsyncDisposable {
  /** Without credentials. */
  readonly url: string;
  /** With the right ones, where it asks for them. */
  readonly urlWithCredentials: string;
  /** Of its certificate, where it speaks TLS. */
  readonly caPem: string;
  /** Whom it was asked to connect to, in their order. */
  readonly asked: readonly string[];
  /** Connections that go through it now. */
  open(): number;
  /** From now on. */
  become(behaviour: ProxyBehaviour): void;
  /** Ends the connections that go through it now. */
  cutAll(): void;
}

export interface ConnectProxyOptions {
  readonly isTls?: boolean;
  readonly credentials?: { readonly user: string; readonly password: string };
  /** Where it connects to whatever it is asked for: a name that only the proxy knows, or somebody who lies in wait. */
  readonly target: () => { readonly host: string; readonly port: number };
}

const refusals: Readonly<Record<string, string>> = {
  refuse: 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n',
  'bad-gateway': 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n',
  garbage: 'SSH-2.0-somebody\r\n',
};

export async function startConnectProxy(options: ConnectProxyOptions): Promise<ConnectProxy> {
  const nowMs = Date.now();
  const ca = createCa({ commonName: 'proxy', validForDays: 1, nowMs });
  const leaf = issueCertificate({
    ca,
    commonName: 'proxy',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    validForMs: 3_600_000,
    nowMs,
  });
  let behaviour: ProxyBehaviour = 'open';
  const asked: string[] = [];
  const sockets = new Set<Duplex>();
  const tunnels = new Set<Duplex>();
  const { user, password } = options.credentials ?? {};
  const wanted =
    user === undefined ? undefined : `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

  function keep<Kind extends Duplex>(socket: Kind, among = sockets): Kind {
    among.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => among.delete(socket));
    return socket;
  }

  function take({ url = '', headers }: IncomingMessage, client: Duplex, head: Buffer): void {
    asked.push(url);
    keep(client);
    if (behaviour === 'hang') return;
    if (behaviour === 'cut') return void client.destroy();
    if (wanted !== undefined && headers['proxy-authorization'] !== wanted) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="p"\r\n\r\n');
      return;
    }
    const refusal = refusals[behaviour];
    if (refusal !== undefined) return void client.end(refusal);
    const { host, port } = options.target();
    const upstream = keep(connect(port, host));
    upstream.once('connect', () => {
      keep(client, tunnels);
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    upstream.on('error', () => client.writable && client.end(refusals['bad-gateway']));
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  }

  const isTls = options.isTls ?? false;
  const server = isTls
    ? createTlsServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem })
    : createServer();
  server.on('connection', (socket: Socket) => keep(socket));
  server.on('tlsClientError', () => undefined);
  server.on('connect', take);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const scheme = isTls ? 'https' : 'http';
  const urlWith = (who: string) => `${scheme}://${who}127.0.0.1:${port}`;
  return {
    url: urlWith(''),
    urlWithCredentials: urlWith(user === undefined ? '' : `${user}:${encodeURIComponent(password ?? '')}@`),
    caPem: ca.certificatePem,
    asked,
    open: () => tunnels.size,
    become(next) {
      behaviour = next;
    },
    cutAll() {
      for (const tunnel of tunnels) tunnel.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

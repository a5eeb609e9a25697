import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type SecureVersion } from 'node:tls';
import { createCa, issueCertificate } from '@rollcall/shared/trust';

type CertificateWithKey = ReturnType<typeof createCa>;
const hourMs = 3_600_000;

/** Stands where the hub should be, and keeps all that it is told: as it came, and what came through TLS. */
export interface Impostor extends AsyncDisposable {
  readonly address: string;
  /** Resolves when somebody has connected; at once if it was before. */
  readonly met: Promise<void>;
  heard(): { readonly raw: string; readonly throughTls: string };
}

/** A server's certificate, by whatever CA and for whatever name and time. */
export function aLeaf(
  ca: CertificateWithKey,
  { beginsInMs = 0, ipAddress = '127.0.0.1' }: { beginsInMs?: number; ipAddress?: string } = {},
): CertificateWithKey {
  return issueCertificate({
    ca,
    commonName: 'hub',
    dnsNames: ['localhost'],
    ipAddresses: [ipAddress],
    usages: ['server'],
    validForMs: hourMs,
    nowMs: Date.now() + beginsInMs,
  });
}

export const anotherCa = (): CertificateWithKey =>
  createCa({ commonName: 'hub', validForDays: 1, nowMs: Date.now() });

async function listening(
  server: Server,
  take: (socket: Socket) => void,
  heard: () => { raw: string; throughTls: string },
): Promise<Impostor> {
  const sockets = new Set<Socket>();
  const met = Promise.withResolvers<void>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
    met.resolve();
    take(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  return {
    address: `127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`,
    met: met.promise,
    heard,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** Without TLS. @param greeting - what it says to everybody; nothing: it only listens */
export function plainImpostor(greeting = ''): Promise<Impostor> {
  let raw = '';
  return listening(
    createServer(),
    (socket) => {
      socket.on('data', (data: Buffer) => void (raw += data.toString('latin1')));
      if (greeting !== '') socket.write(greeting);
    },
    () => ({ raw, throughTls: '' }),
  );
}

/**
 * With TLS. What comes through it is kept, and handed on to `upstream` as it is: a proxy that ends TLS.
 * @param shown - the chain, leaf first; the key is that of `leaf`
 */
export function tlsImpostor(
  leaf: CertificateWithKey,
  options: {
    shown?: string;
    maxVersion?: SecureVersion;
    upstream?: () => Socket;
  } = {},
): Promise<Impostor> {
  let throughTls = '';
  const server = createTlsServer({
    cert: leaf.certificatePem + (options.shown ?? ''),
    key: leaf.privateKeyPem,
    ...(options.maxVersion === undefined
      ? {}
      : { minVersion: 'TLSv1', maxVersion: options.maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' }),
  });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => {
    const upstream = options.upstream?.();
    upstream?.on('error', () => undefined).pipe(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => {
      throughTls += data.toString('latin1');
      upstream?.write(data);
    });
    if (!upstream)
      socket.write('INFO {"server_id":"X","version":"2.15.2","nonce":"n","tls_required":true}\r\n');
  });
  return listening(
    server,
    () => undefined,
    () => ({ raw: '', throughTls }),
  );
}

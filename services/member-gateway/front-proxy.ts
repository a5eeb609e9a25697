import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { toRollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources, watchResource } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';

/** Who the hub's API server says that somebody is. */
export interface Person {
  readonly user: string;
  readonly groups: readonly string[];
}

/** What every Kubernetes says of how its API server shows itself to the APIs behind it. */
interface FrontProxy {
  readonly caPem: string;
  /** Common names of its certificate; none: any that the CA has signed. */
  readonly names: readonly string[];
}

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const place = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };

function namesIn(text: string | undefined): string[] {
  try {
    const names: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    // What cannot be read lets nobody in.
    return ['\u0000'];
  }
}

function frontProxyIn({ data = {} }: ConfigMap): FrontProxy | undefined {
  const caPem = data['requestheader-client-ca-file'];
  if (caPem === undefined || caPem === '') return undefined;
  return { caPem, names: namesIn(data['requestheader-allowed-names']) };
}

/** Of connections that are open: reading a certificate costs half of what a request costs, and it does not change. */
const commonNames = new WeakMap<TLSSocket, string>();

function commonNameOf(socket: TLSSocket): string | undefined {
  const known = commonNames.get(socket);
  if (known !== undefined) return known;
  const { CN: commonName } = socket.getPeerCertificate().subject ?? {};
  if (typeof commonName !== 'string') return undefined;
  commonNames.set(socket, commonName);
  return commonName;
}

/**
 * Who asks, by the headers of the hub's API server.
 * @returns undefined unless the connection is that of the API server: to anybody else a header is not believed
 */
export function personOf(request: IncomingMessage, names: readonly string[]): Person | undefined {
  const socket = request.socket as TLSSocket;
  if (!socket.authorized) return undefined;
  const commonName = commonNameOf(socket);
  if (commonName === undefined || (names.length > 0 && !names.includes(commonName))) return undefined;
  const [user, ...more] = request.headersDistinct['x-remote-user'] ?? [];
  if (user === undefined || user === '' || more.length > 0) return undefined;
  return { user, groups: request.headersDistinct['x-remote-group'] ?? [] };
}

export interface FrontProxyWatch {
  now(): FrontProxy | undefined;
  stop(): Promise<void>;
}

/** Follows by which CA and names the hub's API server is known: it changes them without asking. */
export async function followFrontProxy(
  client: KubeClient,
  { logger, changed }: { logger: Logger; changed(found: FrontProxy): void },
): Promise<FrontProxyWatch> {
  let now: FrontProxy | undefined;
  const ending = new AbortController();
  const first = Promise.withResolvers<void>();
  const watching = watchResource<ConfigMap>(client, resources.configMaps, {
    namespace: place.namespace,
    fieldSelector: `metadata.name=${place.name}`,
    signal: ending.signal,
    onEvent({ kind, object }) {
      if (kind === 'deleted') return;
      const found = frontProxyIn(object);
      try {
        if (found) void new X509Certificate(found.caPem);
      } catch (error) {
        logger.warn({ err: toRollcallError(error) }, 'the CA of the front proxy cannot be read');
        return;
      }
      now = found;
      if (found) changed(found);
    },
    onSynced: () => first.resolve(),
    onError: (error) => {
      logger.warn({ err: toRollcallError(error), object: place.name }, 'watch was interrupted');
      first.resolve();
    },
  });
  await first.promise;
  return {
    now: () => now,
    async stop() {
      ending.abort();
      await watching;
    },
  };
}

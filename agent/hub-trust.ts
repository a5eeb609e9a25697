import { createHash, type X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { RollcallError } from '@rollcall/shared/errors';
import { formatHubAddress, type HubAddress } from './hub-address.ts';

/** How the agent knows its hub: the CA itself, or pins of the CA's public key (`sha256:<hex>`, as `--ca-cert-hash` takes). */
export type HubTrust = { readonly caPem: string } | { readonly pins: readonly string[] };

const probeTimeoutMs = 10_000;

/**
 * Finds the hub's CA certificate by its pin, in the chain that the hub shows. Nothing is trusted yet: whoever stands in
 * between can show the same certificate. The check is the connection that follows, verified against the CA that is returned.
 * @throws RollcallError HUB_UNREACHABLE when no address answers; HUB_CA_WRONG when one does, and none with a pinned CA
 */
export async function findHubCa(addresses: readonly HubAddress[], trust: HubTrust): Promise<string> {
  if ('caPem' in trust) return trust.caPem;
  const pins = new Set(trust.pins.map((pin) => pin.trim().toLowerCase()));
  let shown: string | undefined;
  let failure: unknown;
  for (const address of addresses) {
    try {
      const chain = await readChain(address);
      const found = chain.find((certificate) => certificate.ca && pins.has(pinOf(certificate)));
      if (found !== undefined) return found.toString();
      shown = `${formatHubAddress(address)} shows ${chain.map((one) => pinOf(one)).join(', ') || 'no certificate'}`;
    } catch (cause) {
      failure = cause;
    }
  }
  if (shown !== undefined) {
    throw new RollcallError('HUB_CA_WRONG', `no certificate of the hub has the pinned key (${shown})`);
  }
  const where = addresses.map(formatHubAddress).join(', ');
  throw new RollcallError('HUB_UNREACHABLE', `cannot reach the hub at ${where}: ${describe(failure)}`, {
    cause: failure,
  });
}

/** `sha256:<hex>` over the certificate's public key (SPKI). */
function pinOf(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** The certificates that a server shows, leaf first; the hub's servers speak TLS from the first byte. */
async function readChain({ host, port }: HubAddress): Promise<X509Certificate[]> {
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate[]>();
  const socket = connectTls(
    {
      host,
      port,
      rejectUnauthorized: false,
      // Nobody is trusted yet, so the 140 public roots need not be parsed: that costs 4 MB for good (measured).
      ca: [],
      timeout: probeTimeoutMs,
      ...(isIP(host) ? {} : { servername: host }),
    },
    () => {
      const chain: X509Certificate[] = [];
      const seen = new Set<string>();
      let certificate = socket.getPeerX509Certificate();
      while (certificate && !seen.has(certificate.fingerprint256)) {
        seen.add(certificate.fingerprint256);
        chain.push(certificate);
        certificate = certificate.issuerCertificate;
      }
      resolve(chain);
    },
  );
  socket.on('error', reject);
  socket.on('timeout', () => reject(new Error(`no answer within ${probeTimeoutMs} ms`)));
  socket.on('close', () => reject(new Error('the connection was closed')));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|ERR_SSL_)/;

/**
 * Why a connection with a CA failed: an untrusted certificate is for people to solve, everything else may pass by itself.
 * @param addresses - for the message
 */
export function connectionFailure(thrown: unknown, addresses: readonly HubAddress[]): RollcallError {
  const where = addresses.map(formatHubAddress).join(', ');
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const code = 'code' in error ? String(error.code) : '';
    if (certificateCodes.test(code)) {
      return new RollcallError(
        'HUB_CA_WRONG',
        `the certificate of the hub at ${where} is not valid: ${error.message} (${code})`,
        {
          cause: thrown,
        },
      );
    }
  }
  return new RollcallError('HUB_UNREACHABLE', `cannot reach the hub at ${where}: ${describe(thrown)}`, {
    cause: thrown,
  });
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message || ('code' in thrown ? String(thrown.code) : thrown.name);
}

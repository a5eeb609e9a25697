import { createHash, type X509Certificate } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { formatHubAddress, type HubAddress } from './hub-address.ts';
import type { HubNetwork } from './hub-network.ts';
import { oldestTls, openTls } from './secure-connection.ts';

/** How the agent knows its hub: the CA itself, or pins of the CA's public key (`sha256:<hex>`, as `--ca-cert-hash` takes). */
export type HubTrust = { readonly caPem: string } | { readonly pins: readonly string[] };

/** Tells one trust that a person gave from another. */
export function digestOfTrust(trust: HubTrust): string {
  const text = 'caPem' in trust ? trust.caPem.trim() : trust.pins.toSorted().join().toLowerCase();
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Finds the hub's CA certificate by its pin, in the chain that the hub shows. Nothing is trusted yet: whoever stands in
 * between can show the same certificate. The check is the connection that follows, verified against the CA that is returned.
 * @throws RollcallError HUB_CA_WRONG when an address answers, and none with a pinned CA; else what connectionFailure says
 */
export async function findHubCa(
  addresses: readonly HubAddress[],
  trust: HubTrust,
  network: HubNetwork = {},
): Promise<string> {
  if ('caPem' in trust) return trust.caPem;
  // While a hub changes its CA, what it hands out are two pins with a comma between.
  const pins = new Set(
    trust.pins.flatMap((given) => given.split(',')).map((pin) => pin.trim().toLowerCase()),
  );
  let shown: string | undefined;
  let failure: unknown;
  for (const address of addresses) {
    try {
      const chain = await readChain(address, network, address === addresses.at(-1));
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
  throw connectionFailure(failure, addresses);
}

/**
 * The CA that the first address shows which answers, whoever that is. For people who said in so many words that they trust
 * the first contact, and for nobody else. An impostor can still not answer for the hub whose id is in the token.
 * @throws RollcallError HUB_CA_WRONG when a server shows no CA; else what connectionFailure says
 */
export async function firstHubCa(
  addresses: readonly HubAddress[],
  network: HubNetwork = {},
): Promise<{ caPem: string; pin: string }> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      const chain = await readChain(address, network, address === addresses.at(-1));
      const ca = chain.findLast((certificate) => certificate.ca);
      if (ca !== undefined) return { caPem: ca.toString(), pin: pinOf(ca) };
      const shown = `${formatHubAddress(address)} shows no certificate of a CA`;
      failure = new RollcallError('HUB_CA_WRONG', shown);
    } catch (cause) {
      failure = cause;
    }
  }
  throw failure instanceof RollcallError ? failure : connectionFailure(failure, addresses);
}

/** `sha256:<hex>` over the certificate's public key (SPKI). */
function pinOf(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** The certificates that a server shows, leaf first. */
async function readChain(
  address: HubAddress,
  network: HubNetwork,
  isLast: boolean,
): Promise<X509Certificate[]> {
  // Nobody is trusted yet, so the 140 public roots need not be parsed: that costs 4 MB for good (measured).
  const socket = await openTls(address, network, { rejectUnauthorized: false, ca: [] }, isLast);
  const chain: X509Certificate[] = [];
  const seen = new Set<string>();
  let certificate = socket.getPeerX509Certificate();
  while (certificate && !seen.has(certificate.fingerprint256)) {
    seen.add(certificate.fingerprint256);
    chain.push(certificate);
    certificate = certificate.issuerCertificate;
  }
  socket.destroy();
  return chain;
}

type Failure = 'HUB_CERT_EXPIRED' | 'HUB_CERT_NAME' | 'HUB_NOT_TLS' | 'HUB_TLS_OLD' | 'HUB_CA_WRONG';

/** What the codes of OpenSSL and Node mean for a person; the first that fits. */
const meanings: readonly { readonly codes: RegExp; readonly code: Failure; readonly says: string }[] = [
  {
    codes: /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    code: 'HUB_CERT_EXPIRED',
    says: 'the certificate has expired, or is not valid yet',
  },
  {
    codes: /^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    code: 'HUB_CERT_NAME',
    says: 'the certificate is not for this address',
  },
  {
    codes: /^ERR_SSL_(UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|.*ALERT_PROTOCOL_VERSION)$/,
    code: 'HUB_TLS_OLD',
    says: `the server does not speak ${oldestTls}`,
  },
  {
    codes: /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|HTTPS_PROXY_REQUEST)$/,
    code: 'HUB_NOT_TLS',
    says: 'the server does not speak TLS',
  },
  {
    codes: /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT|INVALID_CA|INVALID_PURPOSE|ERR_SSL_)/,
    code: 'HUB_CA_WRONG',
    says: 'the certificate is not one of the hub that was named',
  },
];

/** The codes above: something answered at the address, and waiting does not make it the hub. */
export function isTrustFailure(code: string): boolean {
  return meanings.some((meaning) => meaning.code === code);
}

/**
 * Why a connection with a CA failed: who answers and is not trusted is for people to solve, everything else may pass by itself.
 * @param addresses - for the message
 */
export function connectionFailure(thrown: unknown, addresses: readonly HubAddress[]): RollcallError {
  // A proxy has said it already.
  if (thrown instanceof RollcallError) return thrown;
  const where = addresses.map(formatHubAddress).join(', ');
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const code = 'code' in error ? String(error.code) : '';
    const meaning = meanings.find(({ codes }) => codes.test(code));
    if (meaning) {
      const message = `the hub at ${where}: ${meaning.says}: ${reasonOf(error)} (${code})`;
      return new RollcallError(meaning.code, message, { cause: thrown });
    }
  }
  return new RollcallError('HUB_UNREACHABLE', `cannot reach the hub at ${where}: ${describe(thrown)}`, {
    cause: thrown,
  });
}

const nobodyThere = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/;

/** Whether a connection failed because there is no server at the address, which costs the hub nothing. */
export function nobodyListened({ cause }: RollcallError): boolean {
  return cause instanceof Error && 'code' in cause && nobodyThere.test(String(cause.code));
}

/** OpenSSL's own words where there are some: its message also has a thread, a source file and a line break. */
function reasonOf(error: Error): string {
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message || ('code' in thrown ? String(thrown.code) : thrown.name);
}

/** Keeps the first result until it is asked for again; a failure is not kept. */
export function findOnce(find: () => Promise<string>): (options: { again: boolean }) => Promise<string> {
  let found: Promise<string> | undefined;
  return ({ again }) => {
    if (again || found === undefined) {
      const search = find();
      search.catch(() => {
        if (found === search) found = undefined;
      });
      found = search;
    }
    return found;
  };
}

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type HubAddress, type HubTrust, parseHubAddress } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';

export interface TrustFlags {
  readonly caCertHash?: readonly string[];
  /** Hidden alias of `caCertHash`, for people who come from kubeadm. */
  readonly discoveryTokenCaCertHash?: readonly string[];
  readonly caFile?: string;
}

/** Of `register` alone: an agent that runs for good never decides that by itself. */
export interface FirstContactFlags extends TrustFlags {
  /** Trust the CA that whoever answers first shows. */
  readonly insecureTrustFirstCa?: boolean;
}

/** @throws RollcallError USAGE */
export function readText(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `${flag}: cannot read "${path}"`, { cause });
  }
}

/** @throws RollcallError USAGE */
function certificatesIn(flag: string, path: string): string {
  const pem = readText(flag, path);
  try {
    // oxlint-disable-next-line no-new -- whether it can be read is the question
    new X509Certificate(pem);
    return pem;
  } catch (cause) {
    throw new RollcallError('USAGE', `${flag}: "${path}" holds no certificate (PEM)`, { cause });
  }
}

const variable = 'ROLLCALL_TOKEN';

/**
 * The token: as given, from a file (`file:PATH`), or from ROLLCALL_TOKEN, which both keep it out of process lists. What it was given by
 * is wiped, as an agent runs for long: the process list shows a flag no more, and no program that it starts inherits the variable.
 * @throws RollcallError USAGE
 */
export function tokenOf(flag: string | undefined): string | undefined {
  const text = flag ?? process.env[variable];
  delete process.env[variable];
  // Writes over all the words that the process was started with.
  if (flag !== undefined && !flag.startsWith('file:')) process.title = 'rollcall';
  if (text === undefined || text === '') return undefined;
  return (text.startsWith('file:') ? readText('--token', text.slice('file:'.length)) : text).trim();
}

/**
 * How the hub is known: by its CA certificate, or by the hash of that one's public key.
 * @returns undefined where neither is given
 * @throws RollcallError USAGE
 */
export function trustOf(flags: TrustFlags): HubTrust | undefined {
  const given = [...(flags.caCertHash ?? []), ...(flags.discoveryTokenCaCertHash ?? [])];
  const pins = given.flatMap((hashes) => hashes.split(',')).map((pin) => pin.trim());
  const wrong = pins.find((pin) => !/^sha256:[0-9a-f]{64}$/i.test(pin));
  if (wrong !== undefined) {
    throw new RollcallError('USAGE', `--ca-cert-hash "${wrong}" is not of the form sha256:<64 hex digits>`);
  }
  if (flags.caFile === undefined) return pins.length === 0 ? undefined : { pins };
  if (pins.length > 0) throw new RollcallError('USAGE', 'give either --ca-cert-hash or --ca-file');
  return { caPem: certificatesIn('--ca-file', flags.caFile) };
}

/**
 * Addresses of one hub, `HOST:PORT` each.
 * @throws RollcallError USAGE
 */
export function addressesOf(texts: readonly string[]): HubAddress[] {
  const parts = texts.flatMap((text) => text.split(',')).map((part) => part.trim());
  try {
    return parts.map(parseHubAddress);
  } catch (cause) {
    throw new RollcallError('USAGE', cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

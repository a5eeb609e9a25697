import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { issueCertificate } from '@rollcall/shared/trust';
import type { HubState } from './hub-state.ts';
import { natsServerNames } from './nats-servers-of.ts';
import { readState, writePrivate } from '../private-files.ts';

const certificateLifeMs = 90 * 86_400_000;

/** Whoever has it can show agents a hub of his own. It is read by set-up and rotation alone, never by a service. */
export const caKeyPath = (stateDir: string) => join(stateDir, 'nats', 'ca-key.pem');

/** @returns the private key of the CA of now, PEM */
export const readCaKey = (stateDir: string): string => readFileSync(caKeyPath(stateDir), 'utf8');

/** Where the NATS server's certificate and its key are. */
export const certificateFiles = (stateDir: string) => ({
  certificateFile: join(stateDir, 'nats', 'server.pem'),
  keyFile: join(stateDir, 'nats', 'server-key.pem'),
  /** By which several servers know each other. */
  caFile: join(stateDir, 'nats', 'ca.pem'),
});

/**
 * Makes the server's certificate anew.
 * @param options.advertised - host names and IP addresses that agents use
 */
export function writeServerCertificate(
  hub: HubState,
  options: { stateDir: string; advertised: readonly string[]; nowMs: number },
): void {
  const { stateDir } = options;
  const caPem = hub.issuingCaPem ?? hub.caPem;
  const names = ['localhost', ...options.advertised.map(shortest)];
  const leaf = issueCertificate({
    ca: { certificatePem: caPem, privateKeyPem: readCaKey(stateDir) },
    commonName: 'rollcall hub',
    dnsNames: [...new Set(names.filter((name) => isIP(name) === 0))],
    ipAddresses: [...new Set(['127.0.0.1', ...names.filter((name) => isIP(name) !== 0)])],
    // Client as well: several servers show it to each other.
    usages: ['server', 'client'],
    validForMs: certificateLifeMs,
    nowMs: options.nowMs,
  });
  const { certificateFile, keyFile, caFile } = certificateFiles(stateDir);
  // While CAs roll over it has both.
  writePrivate(caFile, hub.caPem);
  writePrivate(keyFile, leaf.privateKeyPem);
  // With the CA behind it: agents that only have its hash find it in the chain (measured: else "pin mismatch; chain of 1").
  writePrivate(certificateFile, leaf.certificatePem + caPem);
}

const certificateOf = (stateDir: string) =>
  new X509Certificate(readFileSync(certificateFiles(stateDir).certificateFile));

/** An IPv6 address in its one shortest form: a certificate shows `fd00::7` as `FD00:0:0:0:0:0:0:7`. */
const shortest = (name: string): string =>
  (isIPv6(name) ? URL.parse(`https://[${name}]`)?.hostname.slice(1, -1) : undefined) ?? name;

/** The host names and addresses that the certificate of now is for. */
export function advertisedNow(stateDir: string): string[] {
  const { subjectAltName = '' } = certificateOf(stateDir);
  return subjectAltName.split(', ').map((name) => shortest(name.slice(name.indexOf(':') + 1)));
}

/** @returns whether the certificate of now is for all of these host names and addresses */
export function isFor(stateDir: string, names: readonly string[]): boolean {
  const known = advertisedNow(stateDir);
  return names.every((name) => known.includes(shortest(name)));
}

function isReloaded(pid: number): boolean {
  try {
    process.kill(pid, 'SIGHUP');
    return true;
  } catch {
    return false;
  }
}

/**
 * Has the hub's servers read their certificate again; connections that stand are left alone.
 * @returns false where none runs
 */
export function reloadNatsServer(stateDir: string): boolean {
  return natsServerNames(stateDir)
    .map((name) => readState<{ pid: number }>(join(stateDir, 'run', `${name}.json`)))
    .map((note) => note !== undefined && isReloaded(note.pid))
    .includes(true);
}

/** A hub that is never stopped outlives its certificate: in the last third of its life it is made anew. */
export function renewServerCertificate(hub: HubState, options: { stateDir: string; nowMs: number }): boolean {
  const { stateDir, nowMs } = options;
  if (certificateOf(stateDir).validToDate.getTime() - nowMs > certificateLifeMs / 3) return false;
  writeServerCertificate(hub, { stateDir, advertised: advertisedNow(stateDir), nowMs });
  return reloadNatsServer(stateDir);
}

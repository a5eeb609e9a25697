import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { readState, writePrivate } from '../private-files.ts';

/** What the member gateway shows to the API server of its hub. */
export interface GatewayCertificate {
  /** By which the API server knows it; more than one while they change. */
  readonly caPem: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** The name that an API server asks for, wherever it finds the Service. */
const servedName = 'rollcall-member-gateway.rollcall-system.svc';
const lifeMs = 730 * 86_400_000;
const pathIn = (stateDir: string) => join(stateDir, 'member-gateway', 'certificate.json');

/** Under a CA of its own, whose key nobody keeps: it can be used for nothing else. */
function issue(nowMs: number): GatewayCertificate {
  const ca = createCa({ commonName: 'rollcall member gateway', validForDays: lifeMs / 86_400_000, nowMs });
  const { certificatePem, privateKeyPem } = issueCertificate({
    ca,
    commonName: 'rollcall-member-gateway',
    dnsNames: [servedName],
    ipAddresses: [],
    usages: ['server'],
    validForMs: lifeMs,
    nowMs,
  });
  return { caPem: ca.certificatePem, certificatePem, privateKeyPem };
}

/** @returns undefined where none was made yet */
export const readGatewayCertificate = (stateDir: string): GatewayCertificate | undefined =>
  readState<GatewayCertificate>(pathIn(stateDir));

const endOf = (pem: string) => new X509Certificate(pem).validToDate.getTime();

/**
 * The certificate of the member gateway, made where there is none, and anew in the last third of its life: whoever starts or installs
 * a hub does that. The CA of before stays beside the new one, as pods show the certificate of before for a while.
 * @throws RollcallError STATE_INVALID, DISK_FULL
 */
export function keepGatewayCertificate(stateDir: string, nowMs: number): GatewayCertificate {
  const known = readGatewayCertificate(stateDir);
  if (known && endOf(known.certificatePem) - nowMs > lifeMs / 3) return known;
  const fresh = issue(nowMs);
  // The first of what was known is the newest.
  const [before = ''] = /^-+BEGIN[^]*?-+END[^\n]*\n/.exec(known?.caPem ?? '') ?? [];
  const kept = { ...fresh, caPem: fresh.caPem + before };
  writePrivate(pathIn(stateDir), JSON.stringify(kept));
  return kept;
}

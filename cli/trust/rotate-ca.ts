import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { linkSignedByCa } from '@rollcall/shared/protocol';
import { signHubCas } from '@rollcall/shared/protocol/hub-cas';
import { createCa, spkiPin } from '@rollcall/shared/trust';
import type { HubState } from '../up/state/hub-state.ts';
import { writePrivate } from '../up/private-files.ts';
import {
  advertisedNow,
  caKeyPath,
  readCaKey,
  reloadNatsServer,
  writeServerCertificate,
} from '../up/state/server-certificate.ts';
import type { HubFiles } from './hub-files.ts';

const validForDays = 3650;
const nextKeyPath = (files: HubFiles) => join(files.stateDir, 'nats', 'next-ca-key.pem');

/** What agents are told to know the hub by, from now on: by a CA that they know it by until they hear it. */
function announce(files: HubFiles, { hubId, caPem, caCertHash }: HubState, nowMs: number): void {
  const caKey = readCaKey(files.stateDir);
  const hubCas = signHubCas({ hub: hubId, caPem, atMs: nowMs }, caKey);
  files.change('registrar', ({ replyChain = [], ...identity }) => ({
    ...identity,
    hubCas,
    replyChain: replyChain.map((link) => linkSignedByCa(link, caKey)),
  }));
  const cas = caCertHash.split(',');
  files.change('account-controller', (identity) => ({ ...identity, knownBy: { ...identity.knownBy, cas } }));
}

export function announceCa(files: HubFiles, nowMs: number): HubState {
  const { caPem: present } = files.read('hub');
  const next = createCa({ commonName: 'Rollcall hub CA', validForDays, nowMs });
  writePrivate(nextKeyPath(files), next.privateKeyPem);
  const hub = files.change('hub', (before) => ({
    ...before,
    caPem: present + next.certificatePem,
    caCertHash: `${spkiPin(present)},${spkiPin(next.certificatePem)}`,
    issuingCaPem: present,
    rotations: { ...before.rotations, ca: { stage: 'announced', atMs: nowMs } },
  }));
  announce(files, hub, nowMs);
  return hub;
}

/** Of a CA that was announced: whoever was stopped before agents could be told of it tells them now. */
export function announceAgain(files: HubFiles, nowMs: number): void {
  const hub = files.read('hub');
  if (hub.rotations?.ca !== undefined) announce(files, hub, nowMs);
}

/** @returns whether a server runs that has read its new certificate */
export function switchCa(files: HubFiles, nowMs: number): boolean {
  const { caPem, issuingCaPem, rotations } = files.read('hub');
  if (issuingCaPem === undefined || rotations?.ca === undefined) {
    throw new RollcallError('STATE_INVALID', 'there is no next CA to switch to');
  }
  const next = caPem.slice(issuingCaPem.length);
  const nextKey = readFileSync(nextKeyPath(files), 'utf8');
  const advertised = advertisedNow(files.stateDir);
  const { ca: _done, ...others } = rotations;
  writePrivate(caKeyPath(files.stateDir), nextKey);
  const hub = files.change('hub', ({ issuingCaPem: _former, ...before }) => ({
    ...before,
    caPem: next,
    caCertHash: spkiPin(next),
    rotations: others,
  }));
  writeServerCertificate(hub, { stateDir: files.stateDir, advertised, nowMs });
  const isRunning = reloadNatsServer(files.stateDir);
  announce(files, hub, nowMs);
  return isRunning;
}

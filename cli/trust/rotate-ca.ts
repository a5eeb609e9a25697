import { existsSync, readFileSync } from 'node:fs';
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
  certificateFiles,
  readCaKey,
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

/**
 * Makes the next CA and has agents, services and servers know the hub by both. The rotation begins when that is told: before, the
 * same again goes on with the same CA.
 */
export async function announceCa(files: HubFiles): Promise<void> {
  const { caPem: present, issuingCaPem } = files.read('hub');
  if (issuingCaPem === undefined) {
    const next = createCa({ commonName: 'Rollcall hub CA', validForDays, nowMs: Date.now() });
    writePrivate(nextKeyPath(files), next.privateKeyPem);
    files.change('hub', (before) => ({
      ...before,
      caPem: present + next.certificatePem,
      caCertHash: `${spkiPin(present)},${spkiPin(next.certificatePem)}`,
      issuingCaPem: present,
    }));
  }
  const hub = files.read('hub');
  writePrivate(certificateFiles(files.stateDir).caFile, hub.caPem);
  announce(files, hub, Date.now());
  await files.publish();
  await files.tellHub();
  await files.toServers();
  const atMs = Date.now() + files.readWithinMs;
  files.change('hub', ({ rotations, ...known }) => ({
    ...known,
    rotations: { ...rotations, ca: { stage: 'announced', atMs } },
  }));
}

/** Of a CA that was announced: whoever was stopped before agents could be told of it tells them now. */
export function announceAgain(files: HubFiles, nowMs: number): void {
  const hub = files.read('hub');
  if (hub.rotations?.ca !== undefined) announce(files, hub, nowMs);
}

/** From here on the next CA signs the server's certificate; the hub is still known by both. */
export function switchCa(files: HubFiles, nowMs: number): void {
  const { caPem, issuingCaPem, rotations } = files.read('hub');
  if (issuingCaPem === undefined || rotations?.ca === undefined) {
    throw new RollcallError('STATE_INVALID', 'there is no next CA to switch to');
  }
  files.change('hub', (before) => ({
    ...before,
    issuingCaPem: caPem.slice(issuingCaPem.length),
    rotations: { ...rotations, ca: { stage: 'switched', atMs: nowMs } },
  }));
  takeNextKey(files);
}

/** Last: until the hub is said to have switched, agents are told by the key of the CA that they know. */
function takeNextKey(files: HubFiles): void {
  const path = nextKeyPath(files);
  // A backup has the key that signs, and no other one.
  if (existsSync(path)) writePrivate(caKeyPath(files.stateDir), readFileSync(path, 'utf8'));
}

/**
 * Servers show a certificate of the next CA, and only then the former one is forgotten. Until all of the hub has that, the rotation
 * stands there: the same again finishes it.
 * @returns whether servers run that have read their new certificate
 */
export async function dropFormerCa(files: HubFiles, nowMs: number): Promise<boolean> {
  const before = files.read('hub');
  const { stateDir } = files;
  // A switch may have been stopped before.
  takeNextKey(files);
  const { issuingCaPem: next = before.caPem } = before;
  const { certificateFile, caFile } = certificateFiles(stateDir);
  if (!readFileSync(certificateFile, 'utf8').endsWith(next))
    writeServerCertificate(before, { stateDir, advertised: advertisedNow(stateDir), nowMs });
  const { certificate: isShown } = await files.toServers();
  const hub = files.change('hub', ({ issuingCaPem: _alone, ...known }) => ({
    ...known,
    caPem: next,
    caCertHash: spkiPin(next),
  }));
  writePrivate(caFile, next);
  announce(files, hub, nowMs);
  await files.publish();
  await files.tellHub();
  // Several servers know each other by it, too.
  await files.toServers();
  files.change('hub', ({ rotations: { ca: _done, ...rotations } = {}, ...known }) => ({
    ...known,
    rotations,
  }));
  return isShown;
}

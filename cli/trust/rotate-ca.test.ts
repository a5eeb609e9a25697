import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spkiPin } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { hubKeys } from '../install/hub/hub-keys.ts';
import { hubValuesSchema } from '../install/hub/hub-values.ts';
import { certificateFiles, readCaKey } from '../up/state/server-certificate.ts';
import { type HubFiles, openHubFiles } from './hub-files.ts';
import { announceAgain, announceCa, dropFormerCa, switchCa } from './rotate-ca.ts';
import { rotationStep } from './rotation-step.ts';

/** A command that is killed at its n-th effect; what it wrote before stays. */
function killedAt(files: HubFiles, n: number): HubFiles {
  let left = n;
  const effect = () => {
    if (--left < 0) throw new Error('killed');
  };
  return {
    ...files,
    readWithinMs: 0,
    change(name, how) {
      effect();
      return files.change(name, how);
    },
    publish: async () => effect(),
    tellHub: async () => effect(),
    async toServers() {
      effect();
      return { certificate: true, configuration: true };
    },
  };
}

/** The steps that the same command takes, one each time. @returns the kind of the step */
async function takeStep(files: HubFiles): Promise<string> {
  const { kind } = rotationStep('ca', files.read('hub').rotations?.ca);
  announceAgain(files, Date.now());
  if (kind === 'announce') {
    await announceCa(files);
    return kind;
  }
  if (kind === 'switch') switchCa(files, Date.now());
  await dropFormerCa(files, Date.now());
  return kind;
}

const certificatesIn = (pem: string) => pem.split(/(?<=-----END CERTIFICATE-----\n)/);

test('a CA rolls over, wherever its commands are killed: the same again finishes it, by the CA that was made first', async () => {
  let wasKilled = true;
  for (let n = 0; wasKilled; n++) {
    const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-rotate-ca-'));
    try {
      const { nats } = hubValuesSchema.parse({});
      hubKeys(stateDir, { hosts: ['hub.example.org'], nats, withWebSocket: false });
      const files = openHubFiles(stateDir);
      const known = new Set(certificatesIn(files.read('hub').caPem));
      let command = killedAt(files, n);
      wasKilled = false;
      for (let kind = ''; kind !== 'switch' && kind !== 'drop';) {
        try {
          kind = await takeStep(command);
        } catch (error) {
          if (!String(error).includes('killed')) throw error;
          wasKilled = true;
          command = killedAt(files, Infinity);
        }
        const hub = files.read('hub');
        for (const pem of certificatesIn(hub.caPem)) known.add(pem);
        // Who was away until now has heard of no other one, and is told by the same command.
        const isAnnounced = hub.rotations?.ca?.stage === 'announced';
        const ofKnown = new X509Certificate(hub.issuingCaPem ?? hub.caPem);
        const isTold = ofKnown.checkPrivateKey(createPrivateKey(readCaKey(stateDir)));
        expect(!isAnnounced || isTold, `killed at ${n}`).toBe(true);
      }
      const { caPem, caCertHash, issuingCaPem, rotations } = files.read('hub');
      expect(known.size, `killed at ${n}`).toBe(2);
      expect(caPem).toBe([...known][1]);
      expect({ caCertHash, issuingCaPem, rotations }).toEqual({ caCertHash: spkiPin(caPem), rotations: {} });
      const ca = new X509Certificate(caPem);
      expect(ca.checkPrivateKey(createPrivateKey(readCaKey(stateDir)))).toBe(true);
      const { certificateFile, keyFile } = certificateFiles(stateDir);
      const server = new X509Certificate(readFileSync(certificateFile));
      expect(server.verify(ca.publicKey)).toBe(true);
      expect(server.checkPrivateKey(createPrivateKey(readFileSync(keyFile)))).toBe(true);
      expect(server.checkHost('hub.example.org')).toBe('hub.example.org');
      const { hubCas } = files.read('registrar');
      expect(JSON.parse(hubCas?.signed ?? '')).toMatchObject({ caPem });
    } finally {
      rmSync(stateDir, { recursive: true, force: true });
    }
  }
});

import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openHubState } from './hub-state.ts';
import {
  advertisedNow,
  certificateFiles,
  isFor,
  renewServerCertificate,
  writeServerCertificate,
} from './server-certificate.ts';

const dayMs = 86_400_000;
const nowMs = 1_800_000_000_000;
let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'rollcall-certificate-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

test.each([
  { name: 'in the first two thirds of its life stays', laterMs: 59 * dayMs, endsInDays: 90 },
  { name: 'in its last third is made anew', laterMs: 60 * dayMs, endsInDays: 150 },
])('a certificate $name, for the same addresses', ({ laterMs, endsInDays }) => {
  const hub = openHubState(stateDir, nowMs);
  const advertised = ['hub.example.org', '192.0.2.7', 'FD00:0::7'];
  writeServerCertificate(hub, { stateDir, advertised, nowMs });
  renewServerCertificate(hub, { stateDir, nowMs: nowMs + laterMs });
  const certificate = new X509Certificate(readFileSync(certificateFiles(stateDir).certificateFile));
  expect(certificate.validToDate.getTime()).toBe(nowMs + endsInDays * dayMs);
  expect(advertisedNow(stateDir)).toEqual([
    'localhost',
    'hub.example.org',
    '127.0.0.1',
    '192.0.2.7',
    'fd00::7',
  ]);
  expect(isFor(stateDir, ['fd00:0:0::7'])).toBe(true);
  expect(isFor(stateDir, ['fd00::8'])).toBe(false);
  expect(certificate.verify(new X509Certificate(hub.caPem).publicKey)).toBe(true);
});

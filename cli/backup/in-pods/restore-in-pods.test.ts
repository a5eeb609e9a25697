import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { restoreInPodsUnderWay } from '../../up/state/half-restored.ts';
import { openHubState } from '../../up/state/hub-state.ts';
import { readSecretFiles } from '../hub-secrets.ts';
import type { CheckedBackup } from '../read-backup.ts';
import { restoreInPods } from './restore-in-pods.ts';

const there = vi.hoisted(() => ({ hub: {} as Record<string, string> }));
vi.mock('../../install/hub/hub-places.ts', () => ({
  openHubPlaces: () => ({
    hub: { get: () => Promise.resolve({ metadata: {}, data: there.hub }) },
    workloads: { get: () => Promise.resolve(undefined) },
    close: () => undefined,
  }),
}));

test('where the keys were lost, too, the new epoch is one that the hub never had, as the cluster knows', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-restore-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [former, stateDir] = [join(directory, 'former'), join(directory, 'my keys')];
  const { hubId, caPem, caCertHash } = openHubState(former, Date.now());
  const files = readSecretFiles(former);
  // Restored twice since that backup.
  there.hub = { hubId, addresses: 'hub.example.org:4222', caBundle: caPem, caCertHash, epoch: '5' };
  const header = { hubId, epoch: 3, takenAtMs: 1, throughSequence: 10, handled: {} };
  const backup = { header, events: 10, objects: [], open: () => files } as unknown as CheckedBackup;
  const said = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => {
    said.mockRestore();
    process.exitCode = undefined;
  });
  const opener = { kind: 'files', files } as const;
  await restoreInPods(backup, { stateDir, opener, keepKubernetes: false, epoch: undefined, flags: {} });
  expect(restoreInPodsUnderWay(stateDir)).toMatchObject({ epoch: 6 });
  expect(said.mock.calls.join('')).toContain(`rollcall install hub --keys '${stateDir}' --advertise`);
});

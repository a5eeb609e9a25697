import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createNkey, decodeJwt } from '@rollcall/shared/trust';
import { expect, test, vi } from 'vitest';
import { openHubFiles } from '../../trust/hub-files.ts';
import { hubKeys } from './hub-keys.ts';
import { hubValuesSchema } from './hub-values.ts';

test('no other hub is made where a restore was killed while it put one in place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-hub-keys-'));
  const make = (name: string) =>
    hubKeys(join(folder, name), {
      hosts: ['127.0.0.1'],
      nats: hubValuesSchema.parse({}).nats,
      withWebSocket: false,
    });
  make('restored');
  const half = join(folder, 'half');
  mkdirSync(join(half, 'restoring'), { recursive: true });
  // That file comes last.
  for (const name of readdirSync(join(folder, 'restored')))
    renameSync(join(folder, 'restored', name), join(half, name === 'hub.json' ? 'restoring/hub.json' : name));
  expect(() => make('half')).toThrow(expect.objectContaining({ code: 'RESTORE_UNFINISHED' }));
  rmSync(folder, { recursive: true, force: true });
});

test('claims of the agents that are made anew are older than what the account-controller has pushed, and take back no revocation', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-hub-keys-'));
  const make = () => {
    hubKeys(stateDir, { hosts: ['127.0.0.1'], nats: hubValuesSchema.parse({}).nats, withWebSocket: false });
    const { accountJwts, keys } = openHubFiles(stateDir).read('hub');
    return decodeJwt(accountJwts[keys.agents] ?? '')?.iat ?? 0;
  };
  const beginsAt = make();
  vi.useFakeTimers({ now: Date.now() + 3_600_000 });
  // As a rotation of signing keys leaves it.
  const { publicKey } = createNkey('account');
  openHubFiles(stateDir).change('hub', (hub) => ({
    ...hub,
    keys: { ...hub.keys, agentSigners: { ...hub.keys.agentSigners, member: publicKey } },
  }));
  expect(make()).toBe(beginsAt + 1);
  vi.useRealTimers();
  rmSync(stateDir, { recursive: true, force: true });
});

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { down } from './down.ts';
import { processIdentity } from './process/child-process-identity.ts';

test.runIf(process.platform === 'linux')(
  'a hub that runs in another container is not wiped, and nobody is taken for it',
  async () => {
    const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
    const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-down-'));
    onTestFinished(() => {
      kill.mockRestore();
      rmSync(stateDir, { recursive: true, force: true });
    });
    writeFileSync(join(stateDir, 'hub.json'), '{}');
    const holder = { pid: process.pid, identity: processIdentity(process.pid), pidSpace: 'another' };
    writeFileSync(join(stateDir, 'up.lock'), JSON.stringify(holder));
    await expect(down({ stateDir, wipe: true })).rejects.toMatchObject({ code: 'STATE_IN_USE' });
    expect(kill).not.toHaveBeenCalled();
    expect(existsSync(join(stateDir, 'hub.json'))).toBe(true);
  },
);

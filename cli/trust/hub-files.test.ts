import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openHubState } from '../up/state/hub-state.ts';
import { openHubFiles } from './hub-files.ts';

test('keys that lie elsewhere are no missing hub', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-hub-files-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const opened = () => openHubFiles(stateDir);
  expect(opened).toThrow(expect.objectContaining({ code: 'HUB_MISSING' }));
  openHubState(stateDir, Date.now());
  expect(opened().read('offline').operatorSigners).toHaveLength(2);
  rmSync(join(stateDir, 'offline'), { recursive: true });
  expect(() => opened().read('offline')).toThrow(expect.objectContaining({ code: 'KEYS_OFFLINE' }));
});

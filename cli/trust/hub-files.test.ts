import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { openHubState } from '../up/state/hub-state.ts';
import { upgradeHubState } from '../up/state/upgrade-hub-state.ts';
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

test('several processes that change a document at once take nothing back from one another', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-hub-files-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  openHubState(stateDir, Date.now());
  // Of a process that was killed while it had the lock.
  writeFileSync(
    join(stateDir, 'keys.lock'),
    JSON.stringify({ pid: process.pid, identity: 'an earlier one' }),
  );
  const addFifty = `
    import { openHubFiles } from ${JSON.stringify(new URL('hub-files.ts', import.meta.url))};
    const files = openHubFiles(${JSON.stringify(stateDir)});
    for (let each = 0; each < 50; each++)
      files.change('hub', (hub) => ({ ...hub, credentialLives: [...(hub.credentialLives ?? []), { lifeMs: each }] }));
  `;
  const adding = Array.from({ length: 3 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', addFifty]),
  );
  await Promise.all(adding);
  expect(openHubFiles(stateDir).read('hub').credentialLives).toHaveLength(150);
  expect(readdirSync(stateDir).filter((name) => name.includes('.lock'))).toEqual([]);
});

test('an install that gives a hub the rights of its version takes nothing back that is being changed', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-hub-files-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const { sentinelJwt } = openHubState(stateDir, Date.now());
  const changeSlowly = `
    import { openHubFiles } from ${JSON.stringify(new URL('hub-files.ts', import.meta.url))};
    openHubFiles(${JSON.stringify(stateDir)}).change('hub', (hub) => {
      process.stdout.write('it has read');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
      return { ...hub, credentialLives: [{ lifeMs: 1, untilMs: 2 }] };
    });
  `;
  const changing = spawn(process.execPath, ['--input-type=module', '--eval', changeSlowly]);
  const ended = once(changing, 'exit');
  await once(changing.stdout, 'data');
  expect(upgradeHubState(stateDir, Date.now(), { withWebSocket: true })).toEqual(['sentinel']);
  expect(await ended).toEqual([0, null]);
  const hub = openHubFiles(stateDir).read('hub');
  expect(hub.credentialLives).toHaveLength(1);
  expect(hub.sentinelJwt).not.toBe(sentinelJwt);
});

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { lockState, lockStateOnceFree } from './state-lock.ts';

let stateDir: string;
let lock: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'rollcall-lock-'));
  lock = join(stateDir, 'up.lock');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(stateDir, { recursive: true, force: true });
});

const touchedAgo = (ms: number) => utimesSync(lock, new Date(Date.now() - ms), new Date(Date.now() - ms));

const holder = (more: object) => JSON.stringify({ pid: process.pid, identity: 'another one', ...more });

test.runIf(process.platform === 'linux').each([
  { name: 'who touches it no more was killed', pidSpace: 'another', touchedMs: 11_000 },
  { name: 'who touched it by a clock that was put back was killed', pidSpace: 'another', touchedMs: -11_000 },
  { name: 'of an older version is judged by the process', touchedMs: 0 },
])('of locks of another container: $name', ({ pidSpace, touchedMs }) => {
  writeFileSync(lock, holder({ pidSpace }));
  touchedAgo(touchedMs);
  lockState(stateDir)();
  expect(existsSync(lock)).toBe(false);
});

test.runIf(process.platform === 'linux')(
  'who touches the lock in another container has the directory',
  () => {
    // The first process of a container is number 1 in every one.
    writeFileSync(lock, holder({ pidSpace: 'another' }));
    touchedAgo(4000);
    const refused = { code: 'STATE_IN_USE', message: expect.stringContaining('try again in 10 s') };
    expect(() => lockState(stateDir)).toThrow(expect.objectContaining(refused));
  },
);

test.runIf(process.platform === 'linux')(
  'a container that is started again after it was killed waits until its former self is seen to be gone',
  async () => {
    writeFileSync(lock, holder({ pidSpace: 'another' }));
    touchedAgo(9000);
    const said: string[] = [];
    const unlock = await lockStateOnceFree(stateDir, (message) => said.push(message));
    unlock();
    expect(said).toEqual([expect.stringContaining('waiting up to 12 s')]);
  },
);

test('who has the lock touches it, and touches or takes away none of another', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const unlock = lockState(stateDir);
  const isFresh = () => Date.now() - statSync(lock).mtimeMs < 10_000;
  touchedAgo(60_000);
  vi.advanceTimersByTime(2000);
  expect(isFresh()).toBe(true);
  writeFileSync(lock, '{"pid":1,"identity":"another"}');
  touchedAgo(60_000);
  vi.advanceTimersByTime(2000);
  expect(isFresh()).toBe(false);
  unlock();
  expect(readFileSync(lock, 'utf8')).toContain('another');
  expect(vi.getTimerCount()).toBe(0);
});

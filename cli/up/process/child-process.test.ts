import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ChildOptions, startChild } from './child-process.ts';
import { processIdentity } from './child-process-identity.ts';
import { reapStale } from './child-process-stale.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'rollcall-child-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

/** A server in one line: it is ready once its file is there, and runs until it is told otherwise. */
const aChild = (script: string, change: Partial<ChildOptions> = {}): ChildOptions => ({
  name: 'server',
  command: process.execPath,
  args: [
    '-e',
    `const ready = () => require('fs').writeFileSync(${JSON.stringify(join(stateDir, 'ready'))}, ''); ${script}`,
  ],
  stateDir,
  logPath: join(stateDir, 'logs', 'server.log'),
  isReady: async () => existsSync(join(stateDir, 'ready')),
  readyWithinMs: 20_000,
  ...change,
});
const runs = 'setInterval(() => {}, 1e6);';

test('runs until it is stopped, and leaves no note', async () => {
  const child = await startChild(aChild(`console.log('hello'); ready(); ${runs}`));
  expect(processIdentity(child.pid)).toContain(process.execPath);
  expect(readdirSync(join(stateDir, 'run'))).toEqual(['server.json']);
  expect(await reapStale(stateDir)).toEqual([]);
  await child[Symbol.asyncDispose]();
  await child.stop();
  expect(await child.whenExited).toBe('SIGTERM');
  expect(processIdentity(child.pid)).toBeUndefined();
  expect(readdirSync(join(stateDir, 'run'))).toEqual([]);
  expect(readFileSync(child.logPath, 'utf8')).toBe('hello\n');
  expect(statSync(child.logPath).mode & 0o777).toBe(0o600);
});

test('one that ignores SIGTERM is killed', async () => {
  const child = await startChild(
    aChild(`process.on('SIGTERM', () => {}); ready(); ${runs}`, { stopWithinMs: 50 }),
  );
  await child.stop();
  expect(await child.whenExited).toBe('SIGKILL');
});

test('an early end fails with the last log lines', async () => {
  const starting = startChild(aChild(`console.error('no space left'); process.exit(3)`));
  await expect(starting).rejects.toMatchObject({ code: 'CHILD_FAILED' });
  await expect(starting).rejects.toThrow(/server ended with exit code 3\n {2}no space left/);
});

test('one that is never ready is stopped', async () => {
  await expect(startChild(aChild(runs, { readyWithinMs: 100 }))).rejects.toThrow(
    'was not ready within 100 ms',
  );
  expect(readdirSync(join(stateDir, 'run'))).toEqual([]);
});

test('a program that is not there fails', async () => {
  await expect(startChild(aChild('', { command: '/nowhere/server' }))).rejects.toThrow('ENOENT');
});

test('children of a killed parent are ended by the next run', async () => {
  const module = JSON.stringify(join(import.meta.dirname, 'child-process.ts'));
  const options = `{...${JSON.stringify(aChild(`ready(); ${runs}`))}, isReady: async () => require('fs').existsSync(${JSON.stringify(join(stateDir, 'ready'))})}`;
  const parent = spawn(process.execPath, [
    '-e',
    `import(${module}).then((m) => m.startChild(${options})).then(() => process.kill(process.pid, 'SIGKILL'))`,
  ]);
  await once(parent, 'exit');
  const note = JSON.parse(readFileSync(join(stateDir, 'run', 'server.json'), 'utf8')) as { pid: number };
  expect(processIdentity(note.pid)).toBeDefined();
  expect(await reapStale(stateDir)).toEqual(['server']);
  expect(processIdentity(note.pid)).toBeUndefined();
  expect(await reapStale(stateDir)).toEqual([]);
});

test('a process that only has the number of an old child is left alone', async () => {
  await startChild(aChild(`ready(); ${runs}`)).then((child) => child.stop());
  const note = { pid: process.pid, identity: `1 ${process.execPath}` };
  writeFileSync(join(stateDir, 'run', 'server.json'), JSON.stringify(note));
  writeFileSync(join(stateDir, 'run', 'cut-off.json'), '{"pid":');
  expect(await reapStale(stateDir)).toEqual([]);
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../harness/embedded.ts';

const cliMain = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
let base: string;
let home: string;
let running: ChildProcess[] = [];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'rollcall-home-'));
  home = join(base, 'state');
  running = [];
});
afterEach(async () => {
  for (const child of running)
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  await rollcall('down', '--wipe').ended;
  rmSync(base, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  output(): string;
  readonly ended: Promise<number | null>;
}

function rollcall(...args: string[]): Run {
  const child = spawn(process.execPath, [cliMain, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ROLLCALL_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output, ended: once(child, 'exit').then(([code]) => code as number | null) };
}

async function upAndReady(...args: string[]): Promise<Run> {
  const run = rollcall('up', ...args);
  await until('the hub says that it is running', async () => {
    if (run.child.exitCode !== null) throw new Error(run.output());
    return run.output().includes('Ctrl-C stops it');
  });
  return run;
}

/** Processes whose program or arguments lie in the state directory or name it. */
function processesOfHub(): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return command.includes(base) ? [`${readlinkSync(`/proc/${pid}/exe`)} ${command}`] : [];
      } catch {
        return [];
      }
    });
}

const freePort = '0';

test('Ctrl-C leaves no process; the second start goes on without a new approval', async () => {
  const first = await upAndReady('--port', freePort);
  expect(first.output()).toContain('cluster "local" is Ready');
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(0);
  expect(processesOfHub()).toEqual([]);

  const second = await upAndReady();
  const events = rollcall('events', '--type', 'approved', '-o', 'json');
  await events.ended;
  expect(events.output().trim().split('\n')).toHaveLength(1);
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  expect(processesOfHub()).toEqual([]);
});

test('a killed up leaves nothing that prevents the next one', async () => {
  const first = await upAndReady('--port', freePort);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = await upAndReady();
  expect(second.output()).toContain('ended what an earlier run left behind');
  second.child.kill('SIGINT');
  await second.ended;
  expect(processesOfHub()).toEqual([]);
});

test('a second up of the same directory is refused, and the first goes on', async () => {
  const first = await upAndReady('--port', freePort);
  const second = rollcall('up');
  expect(await second.ended).not.toBe(0);
  expect(second.output()).toMatch(/is used by process \d+/);
  expect(first.child.exitCode).toBeNull();
});

test('a busy port and a damaged state are told, with the way out', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? String(address.port) : '';
  const busy = rollcall('up', '--port', port);
  expect(await busy.ended).not.toBe(0);
  expect(busy.output()).toMatch(new RegExp(`port ${port} .*taken`));
  expect(busy.output()).toContain('hint:');
  server.close();

  writeFileSync(join(home, 'hub.json'), '{"version":');
  const damaged = rollcall('up', '--port', freePort);
  expect(await damaged.ended).not.toBe(0);
  expect(damaged.output()).toMatch(/hub\.json" is damaged/);
  expect(damaged.output()).toContain('rollcall down --wipe');

  writeFileSync(join(home, 'hub.json'), '{"version":0}');
  const old = rollcall('up', '--port', freePort);
  expect(await old.ended).not.toBe(0);
  expect(old.output()).toContain('state version 0');
  expect(processesOfHub()).toEqual([]);
});

test('down --wipe stops a running hub and forgets everything', async () => {
  const first = await upAndReady('--port', freePort);
  const down = rollcall('down', '--wipe');
  expect(await down.ended).toBe(0);
  await first.ended;
  expect(processesOfHub()).toEqual([]);
  expect(readdirSync(base)).not.toContain('state');
});

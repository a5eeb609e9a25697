import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useUpProcess } from '../harness/up-process.ts';

const { base, home, rollcall, upAndReady, processesOfHub } = useUpProcess();
const freePort = '0';

test('Ctrl-C leaves no process; the second start goes on without a new approval; down --wipe stops it and forgets everything', async () => {
  const first = await upAndReady('--port', freePort);
  expect(first.output()).toContain('cluster "local" is Ready');
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(0);
  expect(processesOfHub()).toEqual([]);

  const second = await upAndReady();
  const events = rollcall('events', '--type', 'approved', '-o', 'json');
  await events.ended;
  expect(events.output().trim().split('\n')).toHaveLength(1);
  const down = rollcall('down', '--wipe');
  expect(await down.ended).toBe(0);
  expect(await second.ended).toBe(0);
  expect(processesOfHub()).toEqual([]);
  expect(readdirSync(base())).not.toContain('state');
});

test('a second up of the same directory is refused, and the first goes on; killed, it leaves nothing that prevents the next one', async () => {
  const first = await upAndReady('--port', freePort);
  const refused = rollcall('up');
  expect(await refused.ended).not.toBe(0);
  expect(refused.output()).toMatch(/is used by process \d+/);
  expect(first.child.exitCode).toBeNull();

  first.child.kill('SIGKILL');
  await first.ended;
  const second = await upAndReady();
  expect(second.output()).toContain('ended what an earlier run left behind');
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  expect(processesOfHub()).toEqual([]);
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

  writeFileSync(join(home(), 'hub.json'), '{"version":');
  const damaged = rollcall('up', '--port', freePort);
  expect(await damaged.ended).not.toBe(0);
  expect(damaged.output()).toMatch(/hub\.json" is damaged/);
  expect(damaged.output()).toContain('rollcall down --wipe');

  writeFileSync(join(home(), 'hub.json'), '{"version":0}');
  const old = rollcall('up', '--port', freePort);
  expect(await old.ended).not.toBe(0);
  expect(old.output()).toContain('state version 0');
  expect(processesOfHub()).toEqual([]);
});

test('down --wipe leaves a directory alone that is nobody’s hub', async () => {
  mkdirSync(home());
  writeFileSync(join(home(), 'letters.txt'), 'dear anna');
  const down = rollcall('down', '--wipe');
  expect(await down.ended).toBe(2);
  expect(down.output()).toMatch(/has nothing of a hub in it, but letters.txt/);
  expect(readFileSync(join(home(), 'letters.txt'), 'utf8')).toBe('dear anna');
});

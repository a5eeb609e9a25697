import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startEmbeddedHub } from '../../cli/up/embedded-hub.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'rollcall-ports-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/** For a hub of its own, which does not listen there yet. */
const drawOne = async (name: string) => (await loopbackPorts(join(directory, name), ['nats'])).nats;

test('a port is drawn once in a process, until there is none left', async () => {
  const [first = 0] = (process.env['ROLLCALL_LOOPBACK_PORTS'] ?? '').split('-').map(Number);
  vi.stubEnv('ROLLCALL_LOOPBACK_PORTS', `${first}-${first + 9}`);
  const drawn = await Promise.allSettled(Array.from({ length: 11 }, (_, hub) => drawOne(`${hub}.json`)));
  const ports = drawn.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  expect(ports.length).toBeGreaterThan(0);
  expect(new Set(ports).size).toBe(ports.length);
  expect(ports.filter((port) => port < first || port > first + 9)).toEqual([]);
  expect(drawn.find((one) => one.status === 'rejected')?.reason).toMatchObject({
    code: 'PORT_BUSY',
    message: `no port from ${first} to ${first + 9} is free`,
  });
});

test.each(['20000', '20000-', '30000-20000', '0-10', '20000-70000'])(
  'ROLLCALL_LOOPBACK_PORTS=%s is refused',
  async (range) => {
    vi.stubEnv('ROLLCALL_LOOPBACK_PORTS', range);
    await expect(drawOne('ports.json')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  },
);

test('a port that is taken is named with where it comes from: a flag, or the file that remembers it', async () => {
  const path = join(directory, 'taken.json');
  const { nats = 0 } = await loopbackPorts(path, ['nats']);
  const taker = createServer();
  await new Promise<void>((resolve) => taker.listen(nats, '127.0.0.1', resolve));
  try {
    await expect(loopbackPorts(path, ['nats'])).rejects.toThrow(`(remembered in "${path}")`);
    await expect(loopbackPorts(join(directory, 'new.json'), ['nats'], { nats })).rejects.toThrow(
      `port ${nats} of nats is taken by another process (as it was given)`,
    );
  } finally {
    taker.close();
  }
});

test('the port of a first start is not said to have been given, and what gives another is named', async () => {
  const taker = createServer();
  // Where somebody else has it, it is taken just as well.
  taker.on('error', () => undefined);
  const tried = new Promise((resolve) => taker.once('listening', resolve).once('error', resolve));
  taker.listen(4222, '127.0.0.1');
  await tried;
  try {
    const starting = startEmbeddedHub({ stateDir: join(directory, 'first-start') });
    await expect(starting).rejects.toMatchObject({
      code: 'PORT_BUSY',
      message: expect.stringMatching(/^port 4222 is taken .*--port/),
    });
    await expect(starting).rejects.not.toThrow('given)');
  } finally {
    taker.close();
  }
});

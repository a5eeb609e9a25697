import { rollcallVersion } from '@rollcall/shared/service';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { until } from '../harness/embedded.ts';
import { docker } from './machine/engine.ts';

const name = 'rollcall-hub-of-test';
const images = ['rollcall', 'rollcall-agent', 'rollcall-hub'].map((one) => `${one}:${rollcallVersion}`);

/** As docker-compose.yml has it, but for ports that are free. */
const asInCompose = ['--network', 'host', '--read-only', '--tmpfs', '/tmp', '--volume', `${name}:/state`];

describe.skipIf(inject('nodes').whyNot)('what the images are', () => {
  test.each(images)('%s runs as nobody, and has no shell', async (image) => {
    expect((await docker('image', 'inspect', '--format', '{{.Config.User}}', image)).trim()).toBe('65532');
    for (const shell of ['sh', '/bin/sh', 'bash', 'busybox'])
      await expect(docker('run', '--rm', '--network', 'none', '--entrypoint', shell, image)).rejects.toThrow(
        /executable file not found|no such file/,
      );
  });

  test('the image of the agent has the agent and nothing of the hub', async () => {
    const agent = images[1] ?? '';
    const lookAt =
      "console.log(require('node:fs').readdirSync('/app').filter((one) => !one.endsWith('.js')).join())";
    const listed = await docker(
      'run',
      '--rm',
      '--network',
      'none',
      '--entrypoint',
      '/nodejs/bin/node',
      agent,
      '-e',
      lookAt,
    );
    expect(listed.trim()).toBe('package.json');
    const said = docker(
      'run',
      '--rm',
      '--network',
      'none',
      '--env',
      'ROLLCALL_HUB=127.0.0.1:1',
      agent,
      'agent',
      'run',
    );
    await expect(said).rejects.toThrow('code: ');
  });
});

describe.skipIf(inject('nodes').whyNot)('a whole hub in one container', () => {
  beforeAll(async () => {
    await docker(
      'run',
      '--detach',
      '--name',
      name,
      ...asInCompose,
      `rollcall-hub:${rollcallVersion}`,
      'up',
      '--port',
      '0',
    );
    const isUp = async () => (await docker('logs', name)).includes('Ctrl-C stops it');
    await until('the hub in the container is up', isUp, { withinMs: 240_000 });
  });
  afterAll(async () => {
    await docker('rm', '--force', '--volumes', name);
    await docker('volume', 'rm', name);
  });

  test('the commands that it prints work in it', async () => {
    const printed = await docker('logs', name);
    const commands = [...printed.matchAll(/^ {2}((?:rollcall|kubectl) .*?)(?: {2,}.*)?$/gm)].map(
      ([, line = '']) => line,
    );
    expect(commands.length).toBe(4);
    expect(printed).not.toMatch(/npx|npm/);
    for (const command of commands.filter((line) => !line.includes('--follow')))
      expect(await docker('exec', name, ...command.split(' ')), command).not.toBe('');
    expect(await docker('exec', name, 'rollcall', 'get', 'clusters')).toMatch(/^local +True +True/m);
  });

  test('nobody else on the machine reads what it keeps', async () => {
    const look = "console.log((require('node:fs').statSync('/state').mode & 0o777).toString(8))";
    expect((await docker('exec', name, '/nodejs/bin/node', '-e', look)).trim()).toBe('700');
  });

  test('it ends by itself when it is told to, and goes on with what it had', async () => {
    await docker('stop', '--time', '30', name);
    expect((await docker('inspect', '--format', '{{.State.ExitCode}}', name)).trim()).toBe('0');
    await docker('start', name);
    const isThere = async () => (await docker('logs', name)).split('Ctrl-C stops it').length === 3;
    await until('it is up again', isThere, { withinMs: 240_000 });
    expect(await docker('exec', name, 'rollcall', 'get', 'clusters')).toMatch(/^local +True +True/m);
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { goProgram } from '../harness/go-programs.ts';
import { dockerHost } from './machine/engine.ts';
import { run, step } from './machine/run.ts';

const root = join(import.meta.dirname, '..', '..');
const withEngine = ['env', `DOCKER_HOST=${dockerHost}`] as const;

describe.skipIf(inject('nodes').whyNot)('docker compose', () => {
  let compose: (...args: readonly string[]) => Promise<string>;
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-compose-'));
  beforeAll(async () => {
    const program = await step('building docker compose', () =>
      goProgram('compose', 'docker-compose', 'github.com/docker/compose/v2/cmd', '-s -w'),
    );
    // The engine of these tests has no network of its own.
    const override = join(folder, 'override.json');
    const build = { network: 'host' };
    writeFileSync(override, JSON.stringify({ services: { hub: { build }, three: { build } } }));
    const files = ['--file', join(root, 'docker-compose.yml'), '--file', override];
    compose = (...args) =>
      run(...withEngine, program, ...files, '--project-name', 'rollcall-of-test', ...args);
  });
  afterAll(async () => {
    await compose?.('--profile', 'three', 'down', '--volumes', '--rmi', 'local');
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    ['hub', []],
    ['three', ['--profile', 'three']],
  ])('%s: from a checkout to Ready, and what is kept is gone on with', async (service, profile) => {
    const ready = /^local +True +True/m;
    const clusters = () => compose('exec', '--no-TTY', service, 'rollcall', 'get', 'clusters');
    await step(`${service}: up`, () => compose(...profile, 'up', '--build', '--detach', service));
    await expect.poll(clusters, { timeout: 120_000 }).toMatch(ready);
    const servers = await compose('exec', '--no-TTY', service, 'rollcall', 'status');
    expect(servers).toContain('Everything is as it should be.');
    await compose('stop', service);
    const ended = JSON.parse(await compose('ps', '--all', '--format', 'json', service)) as {
      ExitCode: number;
    };
    expect(ended.ExitCode).toBe(0);
    await compose(...profile, 'up', '--detach', service);
    await expect.poll(clusters, { timeout: 120_000 }).toMatch(ready);
    await compose('stop', service);
  });
});

test.skipIf(inject('nodes').whyNot)('tests run on the programs of the official images', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-containers-'));
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const report = join(folder, 'report.json');
  const reporter = ['--reporter=json', `--outputFile=${report}`];
  await run(
    ...withEngine,
    process.execPath,
    vitest,
    'run',
    '--project=containers',
    ...reporter,
    'tests/kubernetes/control-plane.test.ts',
  );
  const { numPassedTests } = JSON.parse(readFileSync(report, 'utf8')) as { numPassedTests: number };
  expect(numPassedTests).toBeGreaterThan(0);
  rmSync(folder, { recursive: true, force: true });
});

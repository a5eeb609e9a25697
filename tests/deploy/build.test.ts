import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..', '..');

test('what is published runs as compiled JavaScript, without a single TypeScript file', () => {
  const page = () => readdirSync(join(repository, 'console', 'page', 'dist', 'assets'));
  const ofSetUp = page();
  execFileSync(process.execPath, ['tools/build.mjs'], { cwd: repository, stdio: 'pipe' });
  // Whatever NODE_ENV says, which is `test` here.
  expect(page()).toEqual(ofSetUp);
  const files = readdirSync(join(repository, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => file.endsWith('.ts'))).toEqual([]);
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--no-strip-types', join(repository, 'dist', 'cli', 'main.js'), ...args], {
      encoding: 'utf8',
    });
  expect(run('version').stdout).toContain('0.1.0');
  expect(files).toContain(join('console', 'page', 'dist', 'index.html'));
  expect(run('console', '--help').stdout).toContain('--port');
  for (const service of [
    'registrar',
    'approver',
    'rbac-provisioner',
    'heartbeat',
    'projector',
    'account-controller',
  ]) {
    expect(run('serve', service, '--help').stdout, service).toContain('--bus-servers');
  }
});

test('the compose file names targets of the Dockerfile', () => {
  const compose = parse(readFileSync(join(repository, 'docker-compose.yml'), 'utf8')) as {
    services: Record<string, { build: { target: string } }>;
  };
  const dockerfile = readFileSync(join(repository, 'Dockerfile'), 'utf8');
  for (const { build } of Object.values(compose.services))
    expect(dockerfile).toContain(`AS ${build.target}\n`);
});

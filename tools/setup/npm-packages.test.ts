import { existsSync, writeFileSync } from 'node:fs';
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

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '..');

test('a run whose tests wait for ever is ended, names them, and is no run that passed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-limit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [waits, unhandled] = [join(folder, 'waits.test.mjs'), join(folder, 'unhandled.json')];
  const vitest = join(root, 'node_modules', 'vitest');
  writeFileSync(join(folder, 'vitest.config.mjs'), 'export default {};\n');
  writeFileSync(
    waits,
    `import { test } from ${JSON.stringify(join(vitest, 'dist', 'index.js'))};
     test('one', () => {});
     test('waits for ever', () => new Promise(() => {}));`,
  );
  const reporters = ['unhandled-files', 'time-limit'].map(
    (name) => `--reporter=${join(root, 'tools', `${name}.mjs`)}`,
  );
  // Long enough for a busy machine to have begun the test by then.
  const ran = spawnSync(
    process.execPath,
    [join(vitest, 'vitest.mjs'), 'run', '--root', folder, '--testTimeout', '60000', ...reporters],
    {
      encoding: 'utf8',
      env: { ...process.env, ROLLCALL_TEST_LIMIT_MS: '10000', ROLLCALL_UNHANDLED_FILES: unhandled },
      timeout: 50_000,
    },
  );
  expect(ran.stderr).toContain('still running after 10 s: waits.test.mjs, waits for ever');
  expect(ran.status, ran.stderr).toBe(1);
  expect(JSON.parse(readFileSync(unhandled, 'utf8'))).toEqual([null]);
});

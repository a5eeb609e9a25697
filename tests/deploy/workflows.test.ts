import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { goProgram, hasGo } from '../harness/go-programs.ts';

const repository = join(import.meta.dirname, '..', '..');
const folder = join('.github', 'workflows');

test.skipIf(!hasGo())(
  'the workflows are what GitHub takes, with every expression and script in them',
  async () => {
    const actionlint = await goProgram(
      'actionlint',
      'actionlint',
      'github.com/rhysd/actionlint/cmd/actionlint',
    );
    const files = readdirSync(join(repository, folder)).map((name) => join(folder, name));
    expect(files).toContain(join(folder, 'release.yml'));
    const run = promisify(execFile)(actionlint, ['-no-color', ...files], { cwd: repository });
    await expect(run).resolves.toMatchObject({ stdout: '' });
  },
);

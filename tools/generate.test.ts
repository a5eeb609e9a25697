import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('generate.ts', import.meta.url));

test('every derived file is what its schema says', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--check']).catch(
    (failure: { stdout: string }) => failure,
  );
  expect(stdout).toBe('');
});

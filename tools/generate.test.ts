import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('generate.ts', import.meta.url));

test('every derived file is what its schema says', async () => {
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, [script, '--check']).then(
    (output) => ({ ...output, code: 0 }),
    (failure: { code: number; stdout: string; stderr: string }) => failure,
  );
  expect(code, `${stdout}${stderr}`).toBe(0);
});

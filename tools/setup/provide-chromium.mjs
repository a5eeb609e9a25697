import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { say, startProgress } from './progress.mjs';
import { runProgram } from './run-program.mjs';

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} the browser of the tests of the console
 */
export function findChromium(env) {
  const folders = (env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'chromium')).find((path) => existsSync(path));
}

/**
 * Installs Debian's Chromium where that can be done without asking; elsewhere says that its tests are skipped.
 * @param {{ env: NodeJS.ProcessEnv, signal?: AbortSignal | undefined }} place
 */
export async function provideChromium({ env, signal }) {
  if (findChromium(env)) return;
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    say('no `chromium` on PATH: the tests of the console in a browser are skipped');
    return;
  }
  const progress = startProgress('installing chromium from Debian (about 30 s)');
  const quiet = ['-qq', '-o', 'Dpkg::Use-Pty=0', '-y', '--no-install-recommends'];
  const how = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, signal };
  await runProgram('apt-get', ['-qq', 'update'], how);
  const { code, stderr } = await runProgram('apt-get', ['install', ...quiet, 'chromium'], how);
  progress.end(code === 0 ? 'done' : `failed, its tests are skipped: ${stderr.trim()}`);
}

import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { executableName } from './pinned-tools.mjs';
import { say, sayWaiting } from './progress.mjs';
import { interruptOnAbort } from './run-program.mjs';
import { SetupError } from './setup-error.mjs';

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean }} LockedPackage
 * @typedef {{ env: NodeJS.ProcessEnv, signal: AbortSignal | undefined }} Surroundings
 * @typedef {Record<string, LockedPackage>} LockedPackages - by path, e.g. `node_modules/zod`
 */

/**
 * Installs what package-lock.json says, if that is not what lies in node_modules.
 * @param {object} place
 * @param {string} place.root - folder of package-lock.json
 * @param {string} place.cache
 * @param {NodeJS.ProcessEnv} place.env
 * @param {AbortSignal | undefined} [place.signal]
 * @returns {Promise<void>}
 * @throws SetupError when npm fails; npm has said why
 */
export async function provideNpmPackages({ root, cache, env, signal }) {
  if (isInstalled(root)) return;
  // One lock a checkout: two `npm ci` would remove each other's node_modules.
  const checkout = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const lock = join(cache, 'locks', `npm-${checkout}.lock`);
  await withLock(lock, { onWait: sayWaiting, signal }, async () => {
    if (isInstalled(root)) return;
    say('installing npm packages and the pinned Node as package-lock.json says (about 30 s)');
    await runNpmCi(root, { env, signal });
    if (!isInstalled(root))
      throw new SetupError('npm ended well, but node_modules is not what package-lock.json says');
    say('npm packages installed');
  });
}

/**
 * Compares with npm's own note of what it installed, which npm writes last; so an interrupted install, a switched
 * branch and a `npm install` by hand are all judged rightly.
 * @param {string} root
 */
export function isInstalled(root) {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile) || !hasPinnedNode(root)) return false;
  return isSame(readPackages(join(root, 'package-lock.json')), readPackages(installedFile));
}

/**
 * @param {LockedPackages} locked
 * @param {LockedPackages} installed - lacks optional packages that are made for other machines
 */
export function isSame(locked, installed) {
  const fits = (/** @type {string} */ path) => {
    const [want, have] = [locked[path], installed[path]];
    if (have === undefined) return want?.optional === true || path === '' || !path.includes('node_modules/');
    return want?.version === have.version && want?.integrity === have.integrity;
  };
  return Object.keys({ ...locked, ...installed }).every(fits);
}

/**
 * @param {string} file
 * @returns {LockedPackages}
 */
const readPackages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages ?? {};

/**
 * The pinned Node is an optional package for each platform, which npm leaves out elsewhere without a word; where the lockfile
 * has none, the Node of the machine is what there is.
 * @param {string} root
 */
function hasPinnedNode(root) {
  const os = process.platform === 'win32' ? 'win' : process.platform;
  const path = `node_modules/node-${os}-${process.arch}`;
  if (readPackages(join(root, 'package-lock.json'))[path] === undefined) return true;
  return existsSync(join(root, path, 'bin', executableName('node')));
}

/**
 * @param {string} root
 * @param {Surroundings} surroundings
 */
function runNpmCi(root, { env, signal }) {
  // The tools are development dependencies, and the Node that runs this may be older than the one it installs.
  const args = ['ci', '--include=dev', '--include=optional', '--no-engine-strict'];
  args.push('--loglevel=error', '--no-fund', '--no-audit');
  const npm = env.npm_execpath;
  return npm && /npm-cli\.[cm]?js$/.test(npm)
    ? run(process.execPath, [npm, ...args], { cwd: root, env, signal })
    : run('npm', args, { cwd: root, env, signal });
}

/**
 * Shows everything on stderr: stdout is for results.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Surroundings & { cwd: string }} options
 * @returns {Promise<void>} rejects after the program has ended, also where it was interrupted
 */
function run(command, args, { cwd, env, signal }) {
  return new Promise((resolve, reject) => {
    // On Windows npm is a batch file, which only a shell can run.
    const shell = process.platform === 'win32' && command === 'npm';
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 2, 2], shell });
    const hasEnded = interruptOnAbort(child, signal);
    child.once('error', (error) => {
      hasEnded();
      reject(new SetupError(`cannot run ${command}: ${error.message}`));
    });
    child.once('close', (code, endedBy) => {
      hasEnded();
      if (signal?.aborted) reject(signal.reason);
      else if (code === 0) resolve();
      else
        reject(
          new SetupError(
            `${command} ${args.join(' ')} ended with ${code ?? endedBy}; its own words are above`,
          ),
        );
    });
  });
}

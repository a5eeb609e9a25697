import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { executableName } from './pinned-tools.mjs';
import { runProgram } from './run-program.mjs';
import { messageOf, WayFailed } from './setup-error.mjs';

/** Oldest Go that builds the pinned modules (the `go` line of their go.mod). */
const oldestGo = '1.26';

/**
 * Builds a program from the modules that `tools/go/<folder>/go.mod` pins and `go.sum` guards.
 * @param {{ name: string, go: { folder: string, package: string, ldflags: string } }} tool
 * @param {string} folder - where the program shall lie
 * @param {object} context
 * @param {NodeJS.ProcessEnv} context.env
 * @param {AbortSignal | undefined} [context.signal]
 * @param {(detail: string) => void} context.onProgress
 * @returns {Promise<void>}
 * @throws WayFailed when there is no Go, it is too old, or the build fails (with Go's own last lines)
 */
export async function buildFromGo(tool, folder, { env, signal, onProgress }) {
  const module = fileURLToPath(new URL(`../go/${tool.go.folder}`, import.meta.url));
  let packages = 0;
  const onErrorLine = (/** @type {string} */ line) => {
    if (line.startsWith('go: downloading')) onProgress(line.slice('go: '.length));
    else onProgress(`${++packages} packages compiled`);
  };
  // The person's own Go settings (a workspace, -mod=vendor, cgo) must not decide what comes out.
  const goEnv = { ...env, GOWORK: 'off', GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' };
  const args = ['build', '-v', '-trimpath', '-buildvcs=false', `-ldflags=-s -w ${tool.go.ldflags}`.trim()];
  args.push('-o', join(folder, executableName(tool.name)), tool.go.package);
  const options = { cwd: module, env: goEnv, signal, onErrorLine };
  const { code, stderr } = await runProgram('go', args, options).catch((error) => {
    if (signal?.aborted) throw error;
    if (error.code !== 'ENOENT') throw new WayFailed(`cannot run go: ${messageOf(error)}`);
    throw new WayFailed(`no \`go\` on PATH (Go ${oldestGo} or newer builds it)`);
  });
  if (code === 0) return;
  const lastLines = stderr.trim().split('\n').slice(-5).join('\n      ');
  throw new WayFailed(`go build ended with ${code}:\n      ${lastLines}`);
}

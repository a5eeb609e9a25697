import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgress } from './progress.mjs';
import { runProgram } from './run-program.mjs';

/** In this order: the second one needs all that the first one does, in the same versions, and Go's cache has it then. */
const names = ['fleet-client', 'multikueue'];

/**
 * Builds what would hold a test up for minutes where nothing is in Go's cache: what imports Kubernetes' client libraries. Other programs of
 * `tools/go/` are built by the tests that run them, and so are these where that was not possible here.
 * @param {{ env: NodeJS.ProcessEnv, cache: string, signal?: AbortSignal | undefined }} place
 */
export async function buildTestPrograms(place) {
  for (const name of names) if (!(await build(name, place))) return;
}

/**
 * @param {string} name - of the program, and of its folder in `tools/go/`
 * @param {{ env: NodeJS.ProcessEnv, cache: string, signal?: AbortSignal | undefined }} place
 * @returns {Promise<boolean>} whether it was possible
 */
async function build(name, { env, cache, signal }) {
  const cwd = fileURLToPath(new URL(`../go/${name}`, import.meta.url));
  const folder = join(cache, 'bin', name);
  mkdirSync(folder, { recursive: true });
  const progress = startProgress(`building ${name}`);
  let packages = 0;
  const onErrorLine = () => progress.update(`${++packages} packages compiled`);
  const goEnv = { ...env, GOWORK: 'off', GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' };
  // As `goProgram` of the tests does, so that it finds all of it in Go's cache.
  const args = ['build', '-v', '-trimpath', '-buildvcs=false', '-ldflags=', '-o', join(folder, name), '.'];
  const built = runProgram('go', args, { cwd, env: goEnv, signal, onErrorLine });
  const wasBuilt = await built.then(
    ({ code }) => code === 0,
    (error) => {
      if (signal?.aborted) throw error;
      return false;
    },
  );
  progress.end(wasBuilt ? 'done' : 'not possible; tests that need it are left out, or build it');
  return wasBuilt;
}

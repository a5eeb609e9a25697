import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildFromGo } from './build-from-go.mjs';
import { startProgress } from './progress.mjs';
import { WayFailed } from './setup-error.mjs';

/** In this order: the second one needs all that the first one does, most of it in the same versions, and Go's cache has it then. */
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
  const folder = join(cache, 'bin', name);
  mkdirSync(folder, { recursive: true });
  const progress = startProgress(`building ${name}`);
  try {
    const go = { folder: name, package: '.', ldflags: '' };
    await buildFromGo({ name, go }, folder, { env, signal, onProgress: progress.update });
    progress.end('done');
    return true;
  } catch (error) {
    if (!(error instanceof WayFailed)) throw error;
    progress.end(`${error.message}; tests that need it are left out, or build it`);
    return false;
  }
}

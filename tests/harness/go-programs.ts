import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../tools/setup/cache-folder.mjs';

/** Whether the tests that need a Go program can run: unlike the servers, no release of it is downloaded. */
export function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What imports Kubernetes is compiled for minutes where set-up was not run and Go's cache is empty. */
export const coldBuildMs = 1_200_000;

/**
 * Builds a program of `tools/go/<folder>`.
 * @param name - of its file
 * @param of - its package
 * @param ldflags - for its linker
 * @returns its path
 */
export async function goProgram(folder: string, name: string, of = '.', ldflags = ''): Promise<string> {
  const kept = join(cacheFolder(process.env), 'bin', folder);
  mkdirSync(kept, { recursive: true });
  const program = join(kept, name);
  const env = { ...process.env, GOWORK: 'off', GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' };
  const cwd = join(import.meta.dirname, '..', '..', 'tools', 'go', folder);
  // Go's own cache makes this a moment where nothing has changed; a commit of ours is nothing.
  const how = ['-trimpath', '-buildvcs=false', `-ldflags=${ldflags}`];
  await promisify(execFile)('go', ['build', ...how, '-o', program, of], { cwd, env });
  return program;
}

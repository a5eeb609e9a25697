import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { say } from './progress.mjs';
import { runProgram } from './run-program.mjs';

/**
 * Builds the page of the console where its sources are newer than it. Without it everything else works, so a build that fails is said
 * and ends nothing.
 * @param {object} place
 * @param {string} place.root
 * @param {AbortSignal | undefined} [place.signal]
 */
export async function providePage({ root, signal }) {
  const { isPageStale } = await import('../build-page.mjs');
  if (!isPageStale()) return;
  say('building the page of the console (about 5 s)');
  // Vite wants a newer Node than the one that may run this.
  const pinned = join(root, 'node_modules', '.bin', 'node');
  const node = existsSync(pinned) ? pinned : process.execPath;
  const { code, stderr } = await runProgram(node, [join(root, 'tools', 'build-page.mjs')], {
    cwd: root,
    signal,
  });
  if (code !== 0) say(`the page of the console could not be built, and all else works: ${stderr.trim()}`);
}

/*
 * Builds the page of the console into `console/page/dist/`, where its sources are newer than what lies there: a `npm start` that has
 * nothing to build only looks at the files. Also by itself: `node tools/build-page.mjs`.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = join(root, 'console', 'page');
const built = join(page, 'dist', 'index.html');
const sources = [
  join(page, 'index.html'),
  join(page, 'src'),
  join(root, 'console', 'rows'),
  join(root, 'libs', 'shared', 'fleet'),
  join(root, 'libs', 'shared', 'trust'),
  join(root, 'package-lock.json'),
  fileURLToPath(import.meta.url),
];

/**
 * @param {string} path
 * @returns {number} when it, or what is in it, was changed last
 */
function changedMs(path) {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => changedMs(join(path, name))));
}

/** Whether the page is not there, or older than its sources. */
export function isPageStale() {
  if (!existsSync(built)) return true;
  const builtMs = statSync(built).mtimeMs;
  return sources.some((path) => changedMs(path) > builtMs);
}

export async function buildPage() {
  // Of another one Vite makes a page for who develops it, which is slower and larger, and fails now and then.
  process.env.NODE_ENV = 'production';
  const { build } = await import('vite');
  const { svelte } = await import('@sveltejs/vite-plugin-svelte');
  await build({
    root: page,
    configFile: false,
    logLevel: 'warn',
    plugins: [svelte()],
    build: {
      outDir: 'dist',
      emptyOutDir: true,
      assetsInlineLimit: 0,
      // Its code would be inline, which the console's own policy refuses.
      modulePreload: { polyfill: false },
      target: 'es2023',
    },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url) && isPageStale()) await buildPage();

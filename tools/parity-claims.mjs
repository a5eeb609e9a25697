import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { claimsIn } from './shown-rows.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Where tests are; what npm installed beside them is not ours. */
const folders = ['agent', 'bench', 'cli', 'console', 'libs', 'services', 'tests', 'tools'];

/**
 * What the tests of this repository say that they show, in the order of their files.
 * @returns {import('./shown-rows.mjs').Claim[]}
 */
export function parityClaims() {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules') && !isAboutClaims(path))
    .toSorted()
    .flatMap((path) => claimsIn(path, readFileSync(join(root, path), 'utf8')));
}

/** The test of the claims has titles of tests in it that are none. */
const isAboutClaims = (/** @type {string} */ path) => path.endsWith('shown-rows.test.ts');

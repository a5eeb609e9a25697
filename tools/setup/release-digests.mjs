import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The SHA-256 of official releases, as they were published: data of this repository, so that whoever serves a file cannot
 * change what it is compared with.
 *
 * @typedef {object} Pins
 * @property {string} version - of the release, without `v`
 * @property {Record<string, string>} sha256 - of the file that is downloaded, by `<os>-<arch>` in Go's words
 * @typedef {Record<string, Pins>} ReleaseDigests - by name of the program
 */

const digestsFile = fileURLToPath(new URL('release-digests.json', import.meta.url));

/** @returns {ReleaseDigests} */
export const readDigests = (file = digestsFile) => JSON.parse(readFileSync(file, 'utf8'));

/**
 * @param {ReleaseDigests} digests
 * @param {string} [file]
 */
export const writeDigests = (digests, file = digestsFile) =>
  writeFileSync(file, `${JSON.stringify(digests, undefined, 2)}\n`);

/**
 * @param {ReleaseDigests} digests
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {{ os: string, arch: string }} platform
 * @returns {string | undefined} lower-case hex; none where that version has no pin for the platform
 */
export function pinnedDigest(digests, tool, { os, arch }) {
  const pins = digests[tool.name];
  return pins?.version === tool.version ? pins.sha256[`${os}-${arch}`] : undefined;
}

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { messageOf, SetupError } from './setup-error.mjs';

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

const platformForm = /^(linux|darwin|windows)-(amd64|arm64)$/;
const digestForm = /^[0-9a-f]{64}$/;

/**
 * A pin that is written wrongly would be no pin, and nobody would notice.
 * @param {unknown} found
 * @returns {string | undefined} what is wrong with the list
 */
function digestsProblem(found) {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return 'is no list of programs';
  if (Object.keys(found).length === 0) return 'is empty';
  for (const [name, pins] of Object.entries(found)) {
    if (typeof pins?.version !== 'string' || typeof pins.sha256 !== 'object' || pins.sha256 === null)
      return `has no version and no pins of ${name}`;
    for (const [platform, digest] of Object.entries(pins.sha256)) {
      if (!platformForm.test(platform)) return `has a pin of ${name} for "${platform}", which is no platform`;
      if (typeof digest !== 'string' || !digestForm.test(digest))
        return `has a pin of ${name} for ${platform} that is no SHA-256 in lower-case hex`;
    }
  }
  return undefined;
}

/**
 * @returns {ReleaseDigests}
 * @throws SetupError when the list is not what it should be: without it nothing is taken from the network
 */
export function readDigests(file = digestsFile) {
  /** @type {unknown} */
  let found;
  try {
    found = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new SetupError(`the pinned digests cannot be read: ${messageOf(error)}`);
  }
  const problem = digestsProblem(found);
  if (problem !== undefined) throw new SetupError(`the list of pinned digests (${file}) ${problem}`);
  return /** @type {ReleaseDigests} */ (found);
}

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

/**
 * What was pinned for the same file, and is published otherwise now. A release does not change: somebody has to look.
 * @param {ReleaseDigests} before
 * @param {ReleaseDigests} now
 * @returns {string[]}
 */
export function changedPins(before, now) {
  return Object.entries(before).flatMap(([name, { version, sha256 }]) => {
    const published = now[name];
    if (published?.version !== version) return [];
    return Object.entries(sha256)
      .filter(([platform, digest]) => published.sha256[platform] !== digest)
      .map(([platform]) => `${name} ${version} ${platform}`);
  });
}

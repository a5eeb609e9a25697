/*
 * For who changes a version in `setup/pinned-tools.mjs`: pins the SHA-256 of the official releases, as published, in
 * `setup/release-digests.json`. Needs the network; the change is to be looked at as any other before it is kept.
 *
 *   node tools/pin-releases.mjs
 */
import { pinnedTools, testTools } from './setup/pinned-tools.mjs';
import { publishedDigests } from './setup/pin-releases.mjs';
import { writeDigests } from './setup/release-digests.mjs';

writeDigests(await publishedDigests([...pinnedTools, ...testTools], process.env));

/*
 * For who changes a version in `setup/pinned-tools.mjs`, or has a network where pins are missing: pins the SHA-256 of the official
 * releases, as published, in `setup/release-digests.json`. The change is to be looked at as any other before it is kept. What is
 * pinned already must be what is published; else nothing is written.
 *
 *   node tools/pin-releases.mjs
 */
import { pinnedTools, testTools } from './setup/pinned-tools.mjs';
import { publishedDigests } from './setup/pin-releases.mjs';
import { changedPins, readDigests, writeDigests } from './setup/release-digests.mjs';

const published = await publishedDigests([...pinnedTools, ...testTools], process.env);
const changed = changedPins(readDigests(), published);
if (changed.length > 0) throw new Error(`published otherwise than pinned: ${changed.join(', ')}`);
writeDigests(published);

import { basename } from 'node:path';
import { checksumFor, readText, releaseBase, releaseUrls } from './download-release.mjs';
import { WayFailed } from './setup-error.mjs';

const architectures = ['amd64', 'arm64'];

/**
 * Reads the published checksums of the pinned versions, for every platform that has a release.
 * @param {readonly import('./pinned-tools.mjs').PinnedTool[]} tools
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<import('./release-digests.mjs').ReleaseDigests>}
 * @throws WayFailed when a place cannot be reached, or publishes no checksum at all for a program
 */
export async function publishedDigests(tools, env) {
  /** @type {import('./release-digests.mjs').ReleaseDigests} */
  const digests = {};
  for (const tool of tools) {
    /** @type {Record<string, string>} */
    const sha256 = {};
    for (const os of tool.release.platforms)
      for (const arch of architectures) {
        const digest = await publishedDigest(tool, { os, arch }, env);
        if (digest !== undefined) sha256[`${os}-${arch}`] = digest;
      }
    if (Object.keys(sha256).length === 0)
      throw new WayFailed(`no SHA-256 of ${tool.name} ${tool.version} is published`);
    digests[tool.name] = { version: tool.version, sha256 };
  }
  return digests;
}

/**
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {{ os: string, arch: string }} platform
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>} none where nothing is published for the platform
 */
async function publishedDigest(tool, platform, env) {
  const { url, checksumUrl } = releaseUrls(tool, releaseBase(tool, env), platform);
  try {
    return checksumFor(await readText(checksumUrl), basename(url));
  } catch (error) {
    if (error instanceof WayFailed && error.message.endsWith(': status 404')) return undefined;
    throw error;
  }
}

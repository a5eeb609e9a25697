import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { executableName, goPlatform } from './pinned-tools.mjs';
import { pinnedDigest, readDigests } from './release-digests.mjs';
import { runProgram } from './run-program.mjs';
import { messageOf, SetupError, WayFailed } from './setup-error.mjs';

/** Without an answer, or without another byte, for this long a download is given up: there are other ways. */
const silenceMs = { answer: 5_000, body: 30_000 };

/**
 * Hosts that could not be reached in this run, with the reason: three programs come from one host.
 * @type {Map<string, string>}
 */
const unreachable = new Map();

/**
 * Downloads the official release of a program and puts the program into a folder. What has a pinned SHA-256 must match it,
 * whatever is published beside the file. What has none is compared with the checksum beside it, and never taken from a mirror.
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {string} folder - exists; belongs to this download alone
 * @param {object} context
 * @param {NodeJS.ProcessEnv} context.env
 * @param {AbortSignal | undefined} [context.signal]
 * @param {import('./release-digests.mjs').ReleaseDigests | undefined} [context.digests] - only tests need others
 * @param {(detail: string) => void} context.onProgress
 * @returns {Promise<void>}
 * @throws WayFailed when there is no release for this machine, the host cannot be reached, or the published checksum differs
 * @throws SetupError when the mirror will not do, or the file is not the pinned one: nothing else is taken instead
 */
export async function downloadRelease(tool, folder, { env, signal, digests = readDigests(), onProgress }) {
  const { form, platforms, baseUrlEnv } = tool.release;
  if (!platforms.includes(goPlatform.os)) throw new WayFailed(`no release for ${goPlatform.os} is published`);
  const { url, checksumUrl } = releaseUrls(tool, releaseBase(tool, env), goPlatform);
  const pinned = pinnedDigest(digests, tool, goPlatform);
  if (pinned === undefined && env[baseUrlEnv])
    throw new WayFailed(
      `no SHA-256 is pinned for ${basename(url)} ${tool.version}, so it is not taken from ${baseUrlEnv}`,
    );
  const wanted = pinned ?? (await publishedChecksum(url, checksumUrl, signal));

  const executable = join(folder, executableName(tool.name));
  const file = form === 'binary' ? executable : join(folder, basename(url));
  const actual = await save(await get(url, signal), file, onProgress);
  if (actual !== wanted && pinned !== undefined)
    throw new SetupError(notThePinned(tool, url, actual, pinned));
  if (actual !== wanted) throw new WayFailed(`${url} has SHA-256 ${actual}, published is ${wanted}`);
  if (form !== 'binary') await unpack(file, folder, executable);
  chmodSync(executable, 0o755);
}

/**
 * @param {string} url
 * @param {string} checksumUrl
 * @param {AbortSignal | undefined} signal
 */
async function publishedChecksum(url, checksumUrl, signal) {
  const wanted = checksumFor(await readText(checksumUrl, signal), basename(url));
  if (wanted === undefined) throw new WayFailed(`${checksumUrl} holds no SHA-256 for "${basename(url)}"`);
  return wanted;
}

/**
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {string} url
 * @param {string} actual
 * @param {string} pinned
 */
const notThePinned = (tool, url, actual, pinned) =>
  [
    `${url} has SHA-256 ${actual}, but the release of ${tool.name} ${tool.version} has ${pinned} (tools/setup/release-digests.json).`,
    '  Somebody changed the file, or it was damaged on the way; it was not run.',
    `  What to do: tell who keeps that place; unset ${tool.release.baseUrlEnv} if it names a mirror; or put the path of a ${tool.name}`,
    `  that you trust into ${tool.env}.`,
  ].join('\n');

/**
 * @param {string} url
 * @param {AbortSignal} [signal]
 */
export async function readText(url, signal) {
  return Buffer.concat(await collect(await get(url, signal))).toString('utf8');
}

/**
 * Where the releases of a program lie.
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} without a slash at its end
 * @throws SetupError for a mirror without TLS on another machine
 */
export function releaseBase(tool, env) {
  const { baseUrlEnv, baseUrl } = tool.release;
  const mirror = env[baseUrlEnv];
  if (mirror && !isSafeFromOthers(mirror))
    throw new SetupError(
      [
        `${baseUrlEnv} names a mirror that is neither https:// nor http:// on this machine (loopback), so others on the way`,
        `  could replace ${tool.name} together with its checksum.`,
        `  What to do: name the mirror with https://; or download ${tool.name} ${tool.version} and its checksum by a way that you trust,`,
        `  and put its path into ${tool.env}.`,
      ].join('\n'),
    );
  return (mirror || baseUrl).replace(/\/+$/, '');
}

/** @param {string} text */
function isSafeFromOthers(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return false;
  }
  const { protocol, hostname } = url;
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback);
}

/**
 * Where a release and its checksum lie.
 * @param {import('./pinned-tools.mjs').PinnedTool} tool
 * @param {string} base
 * @param {{ os: string, arch: string }} platform
 */
export function releaseUrls(tool, base, { os, arch }) {
  if (tool.release.form === 'binary') {
    const file = os === 'windows' ? `${tool.name}.exe` : tool.name;
    const url = `${base}/v${tool.version}/bin/${os}/${arch}/${file}`;
    return { url, checksumUrl: `${url}.sha256` };
  }
  if (tool.release.form === 'summed-archive') {
    const ending = os === 'windows' ? 'zip' : 'tar.gz';
    const url = `${base}/${tool.name}-v${tool.version}-${os}-${arch}.${ending}`;
    return { url, checksumUrl: `${url}.sha256sum` };
  }
  // etcd publishes zip for macOS, both publish it for Windows; `tar` there (bsdtar) reads it too.
  const ending = os === 'linux' || (os === 'darwin' && tool.name === 'nats-server') ? 'tar.gz' : 'zip';
  const folder = `${base}/v${tool.version}`;
  return {
    url: `${folder}/${tool.name}-v${tool.version}-${os}-${arch}.${ending}`,
    checksumUrl: `${folder}/SHA256SUMS`,
  };
}

/**
 * Finds a file's checksum in `<hex>  <name>` lines, or takes a file that holds a checksum only.
 * @param {string} text
 * @param {string} name
 * @returns {string | undefined} lower-case hex
 */
export function checksumFor(text, name) {
  for (const line of text.split('\n')) {
    const [hex = '', of] = line.trim().split(/\s+\*?/);
    if (/^[0-9a-f]{64}$/i.test(hex) && (of === undefined || of === name)) return hex.toLowerCase();
  }
  return undefined;
}

const mostRedirects = 5;

/**
 * Follows redirects by itself: each step has to be one that nobody on the way can bend.
 * @param {string} url
 * @param {AbortSignal} signal
 */
async function follow(url, signal) {
  let place = url;
  for (let redirects = 0; redirects <= mostRedirects; redirects++) {
    const response = await fetch(place, { signal, redirect: 'manual' });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    place = new URL(location, place).href;
    if (!isSafeFromOthers(place)) throw new WayFailed(`leads to ${new URL(place).origin}, without TLS`);
  }
  throw new WayFailed(`leads on more than ${mostRedirects} times`);
}

/**
 * @param {string} url
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<{ chunks: AsyncIterable<Uint8Array>, sizeBytes: number | undefined }>}
 */
async function get(url, signal) {
  const { host } = new URL(url);
  const known = unreachable.get(host);
  if (known !== undefined) throw new WayFailed(`${host}: ${known}`);
  const silence = new AbortController();
  const stop = (/** @type {string} */ reason) => silence.abort(new Error(reason));
  const interrupt = () => silence.abort(signal?.reason);
  signal?.addEventListener('abort', interrupt, { once: true });
  let timer = setTimeout(stop, silenceMs.answer, `no answer within ${silenceMs.answer / 1000} s`);
  const failed = (/** @type {unknown} */ error) => {
    clearTimeout(timer);
    if (signal?.aborted) return signal.reason;
    return new WayFailed(`${url}: ${messageOf(error)}`);
  };
  let response;
  try {
    response = await follow(url, silence.signal);
  } catch (error) {
    if (!signal?.aborted && !(error instanceof WayFailed)) unreachable.set(host, messageOf(error));
    throw failed(error);
  }
  if (!response.ok || response.body === null) throw failed(`status ${response.status}`);
  const { body } = response;
  async function* chunks() {
    try {
      for await (const chunk of body) {
        clearTimeout(timer);
        timer = setTimeout(stop, silenceMs.body, `nothing more came within ${silenceMs.body / 1000} s`);
        yield chunk;
      }
    } catch (error) {
      throw failed(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', interrupt);
    }
  }
  return { chunks: chunks(), sizeBytes: Number(response.headers.get('content-length')) || undefined };
}

/** @param {{ chunks: AsyncIterable<Uint8Array> }} download */
async function collect({ chunks }) {
  const all = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

/**
 * @param {{ chunks: AsyncIterable<Uint8Array>, sizeBytes: number | undefined }} download
 * @param {string} file
 * @param {(detail: string) => void} onProgress
 * @returns {Promise<string>} SHA-256 of what was written, lower-case hex
 */
async function save({ chunks, sizeBytes }, file, onProgress) {
  const hash = createHash('sha256');
  const output = await open(file, 'w');
  let doneBytes = 0;
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      await output.write(chunk);
      doneBytes += chunk.byteLength;
      const of = sizeBytes === undefined ? '' : ` of ${Math.round(sizeBytes / 1e6)}`;
      onProgress(`${Math.round(doneBytes / 1e6)}${of} MB`);
    }
  } finally {
    await output.close();
  }
  return hash.digest('hex');
}

/**
 * @param {string} archive
 * @param {string} folder
 * @param {string} executable - where the program shall lie
 */
async function unpack(archive, folder, executable) {
  const unpacked = join(folder, 'unpacked');
  mkdirSync(unpacked);
  const { code, stderr } = await runProgram('tar', ['-xf', archive, '-C', unpacked]).catch((error) => {
    throw new WayFailed(`cannot run tar to unpack ${basename(archive)}: ${messageOf(error)}`);
  });
  if (code !== 0) throw new WayFailed(`tar cannot unpack ${basename(archive)}: ${stderr.trim()}`);
  const [top = ''] = readdirSync(unpacked);
  renameSync(join(unpacked, top, basename(executable)), executable);
  rmSync(unpacked, { recursive: true });
  rmSync(archive);
}

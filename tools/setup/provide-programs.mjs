import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildFromGo } from './build-from-go.mjs';
import { noteDigest } from './cache-note.mjs';
import { folderInCache, pathInCache } from './cache-folder.mjs';
import { downloadRelease } from './download-release.mjs';
import { findProgram, versionOf } from './find-program.mjs';
import { isRunning, withLock } from './lock.mjs';
import { executableName, goPlatform } from './pinned-tools.mjs';
import { entryFor, isCurrent, readRecord, writeRecord } from './program-record.mjs';
import { formatSeconds, say, sayWaiting, startProgress } from './progress.mjs';
import { pinnedDigest, readDigests } from './release-digests.mjs';
import { SetupError, WayFailed } from './setup-error.mjs';

/**
 * @typedef {import('./pinned-tools.mjs').PinnedTool} PinnedTool
 * @typedef {import('./find-program.mjs').Found} Found
 * @typedef {{ tool: PinnedTool, tried: string[] }} Missing
 * @typedef {object} Place
 * @property {NodeJS.ProcessEnv} env
 * @property {string} cache
 * @property {string} [recordFile] - only tests need another one
 * @property {import('./release-digests.mjs').ReleaseDigests} [digests] - only tests need others
 * @property {AbortSignal | undefined} [signal] - ends the work and removes what is half made
 */

/**
 * Provides programs: from the environment, PATH, the cache, the official release, or by building.
 * @param {readonly PinnedTool[]} tools
 * @param {Place} place
 * @returns {Promise<import('./program-record.mjs').ProgramRecord>} has an entry for each of `tools`
 * @throws SetupError that names, for each program that is missing, every way that was tried
 */
export async function providePrograms(tools, place) {
  const record = readRecord(place.recordFile);
  const stale = tools.filter((tool) => !isCurrent(tool, record[tool.name], place));
  if (stale.length > 0) {
    const found = await findAll(stale, place);
    const missing = found.missing.length === 0 ? [] : await makeAll(found, place);
    for (const [tool, program] of found.programs) record[tool.name] = entryFor(tool, program);
    writeRecord(record, place.recordFile);
    if (missing.length > 0) throw new SetupError(missing.map(explain).join('\n'));
  }
  sayWhatIsNotOurs(tools, record);
  return record;
}

/**
 * A program from PATH or a variable is not what set-up pins, and whoever can write there decides what runs.
 * @param {readonly PinnedTool[]} tools
 * @param {import('./program-record.mjs').ProgramRecord} record
 */
function sayWhatIsNotOurs(tools, record) {
  for (const { name, version, env } of tools) {
    const entry = record[name];
    if (entry?.from !== 'PATH' && entry?.from !== 'environment') continue;
    const from = entry.from === 'PATH' ? 'PATH' : env;
    say(`${name} ${entry.version} is taken from ${from}: ${entry.path} (pinned is ${version})`);
  }
}

/**
 * @param {readonly PinnedTool[]} tools
 * @param {Place} place
 */
async function findAll(tools, place) {
  /** @type {Map<PinnedTool, Found>} */
  const programs = new Map();
  /** @type {Missing[]} */
  const missing = [];
  for (const tool of tools) {
    const result = await findProgram(tool, place);
    if (result.found) programs.set(tool, result.found);
    else {
      missing.push({ tool, tried: result.tried });
      for (const way of result.tried.filter((tried) => tried.includes('is not what set-up put there')))
        say(way);
    }
  }
  return { programs, missing };
}

/**
 * Downloads, else builds, what was not found, and adds it to `programs`. Where no SHA-256 of the release is pinned it is the
 * other way round: go.sum pins the sources, while a checksum beside a file only says that both came from one place.
 * @param {{ programs: Map<PinnedTool, Found>, missing: Missing[] }} found
 * @param {Place} place
 * @returns {Promise<Missing[]>} what could not be made
 */
function makeAll({ programs, missing }, place) {
  const lock = join(place.cache, 'locks', 'programs.lock');
  return withLock(lock, { onWait: sayWaiting, signal: place.signal }, async () => {
    removeLeftovers(place.cache);
    const digests = place.digests ?? readDigests();
    const toBuild = [];
    for (const one of missing) {
      // Whoever held the lock before may have made it.
      const again = await findProgram(one.tool, place);
      const isPinned = pinnedDigest(digests, one.tool, goPlatform) !== undefined;
      if (!isPinned) one.tried.push(noPin(one.tool));
      const program = again.found ?? (isPinned ? await make(one, 'download', place) : undefined);
      if (program) programs.set(one.tool, program);
      else toBuild.push({ one, isPinned });
    }
    announce(toBuild.map(({ one }) => one));
    const failed = [];
    for (const { one, isPinned } of toBuild) {
      const program =
        (await make(one, 'build', place)) ?? (isPinned ? undefined : await takeUnpinned(one, place));
      if (program) programs.set(one.tool, program);
      else failed.push(one);
    }
    return failed;
  });
}

/** @param {PinnedTool} tool */
const noPin = ({ name, version }) =>
  `no SHA-256 of the release of ${name} ${version} for ${goPlatform.os}-${goPlatform.arch} is pinned`;

/**
 * The last way, where nothing can be built: the release from its own project, with nothing but the checksum beside it.
 * @param {Missing} missing
 * @param {Place} place
 */
async function takeUnpinned(missing, place) {
  const program = await make(missing, 'download', place);
  if (program) say(`${noPin(missing.tool)}: it was compared only with the checksum published beside it`);
  return program;
}

/**
 * Makes one program in a folder of its own, tries it, and only then moves it to its place.
 * @param {Missing} missing - gets the reason when this way fails
 * @param {'download' | 'build'} way
 * @param {Place} place
 * @returns {Promise<Found | undefined>}
 */
async function make({ tool, tried }, way, { env, cache, signal, digests }) {
  const progress = startProgress(
    `${way === 'build' ? 'building' : 'downloading'} ${tool.name} ${tool.version}`,
  );
  mkdirSync(join(cache, 'bin'), { recursive: true });
  const folder = mkdtempSync(join(cache, 'bin', `.making-${process.pid}-`));
  try {
    const context = { env, signal, digests, onProgress: progress.update };
    await (way === 'build' ? buildFromGo : downloadRelease)(tool, folder, context);
    const version = await versionOf(tool, join(folder, executableName(tool.name)));
    if (version !== tool.version)
      throw new WayFailed(typeof version === 'string' ? `made ${version}` : version.wrong);
    const target = folderInCache(cache, tool);
    // Only one that does not run, or was changed, can lie there: a good one would have been found.
    rmSync(target, { recursive: true, force: true });
    renameSync(folder, target);
    noteDigest(pathInCache(cache, tool));
    progress.end('done');
    return { path: pathInCache(cache, tool), version, from: way };
  } catch (error) {
    progress.end(signal?.aborted ? 'interrupted' : 'not possible');
    if (!(error instanceof WayFailed)) throw error;
    tried.push(`${way}: ${error.message}`);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {readonly Missing[]} toBuild */
function announce(toBuild) {
  if (toBuild.length === 0) return;
  const seconds = toBuild.reduce((sum, { tool }) => sum + tool.go.buildSeconds, 0);
  const names = toBuild.map(({ tool, tried }) => `${tool.name} (${tried[tried.length - 1]})`);
  say(`these are built from pinned Go modules:\n  ${names.join('\n  ')}`);
  say(`this happens once and takes about ${formatSeconds(seconds)} on two cores; Ctrl-C is safe at any time`);
}

/**
 * Removes what set-ups that were killed left half made.
 * @param {string} cache
 */
function removeLeftovers(cache) {
  const bin = join(cache, 'bin');
  mkdirSync(bin, { recursive: true });
  for (const name of readdirSync(bin)) {
    const pid = /^\.making-(\d+)-/.exec(name)?.[1];
    if (pid && !isRunning(Number(pid))) rmSync(join(bin, name), { recursive: true, force: true });
  }
}

/** @param {Missing} missing */
function explain({ tool, tried }) {
  const { from, below } = tool.accepts;
  return [
    `${tool.name} ${tool.version} could not be provided. Tried, in this order:`,
    ...tried.map((way) => `  - ${way}`),
    `  What to do: go online; or install Go (1.26 or newer) and a module proxy it can reach; or put a ${tool.name}`,
    `  >= ${from} and < ${below} on PATH, or its path into ${tool.env}.`,
  ].join('\n');
}
